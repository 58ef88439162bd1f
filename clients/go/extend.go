package stint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// An Extension asks for more tokens of a request with an ID; see [Limiter.Extend].
type Extension struct {
	// Number counts the extensions of the request that were granted, from 1. The same number again is answered alike
	// and takes nothing, so the limiter repeats it when a reply is lost, and the caller may.
	Number int64
	// Tokens is the number asked of each limit that has no Cost. It must be above 0.
	Tokens int64
	// UpTo takes the tokens that all limits have, at most Tokens and at least 1.
	UpTo bool
	// Remember, if it is above 0, is how long from now the request can be settled at least. It is rounded up to
	// milliseconds.
	Remember time.Duration
	// Split has [LimitState].Granted set if the last limit is a [Balance], to what the request and all its extensions
	// took.
	Split bool
}

// Extend takes more tokens of the same limits for a request with this ID. A denial takes nothing. [Limiter.Settle] then
// charges the cost of all. known is false if the server does not know the ID. See [Limiter.Allow] about err.
func (l *Limiter) Extend(ctx context.Context, id string, e Extension) (m MultiResult, known bool, err error) {
	return l.extend(ctx, id, e, nil)
}

// extend is Extend with the limits of which [LocalShare] takes the tokens.
func (l *Limiter) extend(ctx context.Context, id string, e Extension, limits []Keyed) (m MultiResult, known bool, err error) {
	invalid := Request{Tokens: e.Tokens}.check()
	if e.Number < 1 || e.Remember < 0 {
		invalid = fmt.Errorf("%w: an extension has a Number above 0 and a time to Remember of 0 or more, got %d and %v", ErrInvalid, e.Number, e.Remember)
	}
	arguments := []any{"RL.EXTEND", string(shortKey(id)), e.Number, e.Tokens}
	if e.UpTo {
		arguments = append(arguments, "UPTO")
	}
	if e.Remember > 0 {
		arguments = append(arguments, "FOR", remembered(e.Remember))
	}
	if e.Split {
		arguments = append(arguments, "SPLIT")
	}
	m, err = l.several(ctx, "Extend", string(shortKey(id)), Request{Tokens: e.Tokens, ID: id}, arguments, limits, invalid)
	if errors.Is(err, redis.Nil) {
		return MultiResult{Binding: -1}, false, nil
	}
	return m, true, err
}

// remembered is a time as the server takes it, rounded up to milliseconds.
func remembered(d time.Duration) string {
	return milliseconds((d + time.Millisecond - 1).Truncate(time.Millisecond))
}
