package stint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Balance is a limit of credits that were bought (BAL.ACQUIRE), which only [Limiter.AddCredits] adds. A denial has
// [Result].NeedsPayment. In [Limiter.All] it is the last limit; see [Keyed.OrElse]. [LocalShare] has no share of it, and
// denies.
func Balance() Limit { return Limit{algorithm: balance} }

// OrElse makes the last limit, a [Balance], give what the limits before it cannot give of the cost, or all of it. Its
// share is [LimitState].Granted, with [Request].Split.
func (k Keyed) OrElse() Keyed {
	k.orElse = true
	return k
}

// A Payment adds credits to a balance; see [Limiter.AddCredits].
type Payment struct {
	// ID identifies the payment. It is a key that the server remembers for 10 years. A long one is shortened.
	ID string
	// Credits is a number above 0.
	Credits int64
	// Expires, if it is not zero, is when the rest of these credits is gone, rounded down to seconds.
	Expires time.Time
}

// AddCredits adds the credits of a payment to a balance, and returns the present balance. The same payment again adds
// nothing, so the limiter repeats it when a reply is lost, and the caller may. The same ID with another number of
// credits or another end is an error.
func (l *Limiter) AddCredits(ctx context.Context, key string, p Payment) (credits int64, err error) {
	if p.ID == "" || p.Credits < 1 {
		return 0, fmt.Errorf("%w: a payment has an ID and credits above 0, got %q and %d", ErrInvalid, p.ID, p.Credits)
	}
	arguments := []any{"BAL.ADD", string(shortKey(key)), p.Credits, "AS", string(shortKey(p.ID))}
	if !p.Expires.IsZero() {
		arguments = append(arguments, "EXPIRE", p.Expires.Unix())
	}
	reply, err := l.askUntilAnswered(ctx, arguments)
	if err != nil {
		return 0, err
	}
	n, err := integers(reply, 2)
	if err != nil {
		return 0, err
	}
	return n[1], nil
}

// Credits are those of a balance.
type Credits struct {
	Balance int64    // below zero while it is in debt
	Grants  []Credit // in the order in which they are spent
}

// Credit is what is left of the credits that expire at one time; Expires is zero if they never do.
type Credit struct {
	Left    int64
	Expires time.Time
}

// Credits shows a balance. known is false for a key without one.
func (l *Limiter) Credits(ctx context.Context, key string) (c Credits, known bool, err error) {
	reply, err := l.askUntilAnswered(ctx, []any{"BAL.INFO", string(shortKey(key))})
	if errors.Is(err, redis.Nil) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	fields := fieldsOf(reply)
	grants, ok := fields["grants"].([]any)
	if c.Balance, known = fields["balance"].(int64); !known || !ok {
		return c, false, fmt.Errorf("%w (%v)", errReply, reply)
	}
	for _, grant := range grants {
		values, _ := grant.([]any)
		if len(values) == 2 && values[1] == nil {
			values = []any{values[0], int64(0)} // which is no time of a grant
		}
		n, err := integers(values, 2)
		if err != nil {
			return c, false, err
		}
		left := Credit{Left: n[0]}
		if n[1] != 0 {
			left.Expires = time.Unix(n[1], 0)
		}
		c.Grants = append(c.Grants, left)
	}
	return c, true, nil
}
