package stint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// What can be wrong. Those of the first group come as [Result].Cause of an answer that the [Policy] gave, and each is
// also ErrUnavailable for errors.Is; those of the second are returned as err.
var (
	// ErrUnavailable: Stint did not decide. Connections that fail, and replies such as CLUSTERDOWN, LOADING, MISCONF and
	// OOM, are this and nothing more special.
	ErrUnavailable = errors.New("stint: not available")
	// ErrTimeout: no reply within the Timeout. Unless it is also ErrNotSent, the tokens may have been taken.
	ErrTimeout = errors.New("stint: no reply in time")
	// ErrNotSent: the request was given up before it was sent. Nothing was taken.
	ErrNotSent = errors.New("stint: not sent")
	// ErrUncertain: a cluster lost its leader while it decided, and cannot tell whether the tokens were taken. They count
	// as spent.
	ErrUncertain = errors.New("stint: the outcome is not known")
	// ErrCircuitOpen: Stint failed several times in a row and is not asked until it works again. Nothing was sent.
	ErrCircuitOpen = errors.New("stint: circuit open")
	// ErrOverloaded: too many requests wait to be sent. Nothing was sent.
	ErrOverloaded = errors.New("stint: too many requests are waiting")

	// ErrInvalid: a limit or an argument that cannot be sent. Mistakes that the server finds are returned as it words
	// them.
	ErrInvalid = errors.New("stint: invalid")
	// ErrClosed: the limiter was closed.
	ErrClosed = errors.New("stint: closed")
	// ErrWouldExceedDeadline: Wait would have to wait longer than ctx allows. Nothing was taken.
	ErrWouldExceedDeadline = errors.New("stint: would have to wait longer than the deadline allows")
	// ErrDenied: Wait was denied in a way that waiting does not mend: more tokens than there can be, or a policy that
	// denies while Stint is not available.
	ErrDenied = errors.New("stint: denied")
)

var (
	errTimeoutSent    = fmt.Errorf("%w: %w; the tokens may have been taken", ErrUnavailable, ErrTimeout)
	errTimeoutNotSent = fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrTimeout, ErrNotSent)
	errCircuitOpen    = fmt.Errorf("%w: %w", ErrUnavailable, ErrCircuitOpen)
	errOverloaded     = fmt.Errorf("%w: %w", ErrUnavailable, ErrOverloaded)
)

// refusals are the codes of replies with which a server says that it cannot decide at present. They say nothing about
// the request.
var refusals = []string{
	"CLUSTERDOWN ", "LOADING ", "TRYAGAIN ", "MASTERDOWN ", "READONLY ", "NOREPLICAS ", "MISCONF ", "NOTKEPT ", "OOM ",
	"BUSY ", "MOVED ", "ASK ", "ERR max number of clients reached",
}

// classify turns what go-redis returned into what the caller is told, and reports whether the connection or the server
// failed to answer: that is what the circuit breaker counts. A reply that refuses comes promptly and is no such failure.
func classify(err error) (told error, silent bool) {
	if err == nil {
		return nil, false
	}
	if errors.Is(err, ErrUnavailable) {
		return err, errors.Is(err, ErrTimeout)
	}
	if isContextError(err) {
		return fmt.Errorf("%w: %w", errTimeoutSent, err), true
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err), true
	}
	text := reply.Error()
	if strings.HasPrefix(text, "UNCERTAIN ") {
		return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrUncertain, err), false
	}
	for _, refusal := range refusals {
		if strings.HasPrefix(text, refusal) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err), false
		}
	}
	if strings.HasPrefix(text, "ERR unknown command") {
		return fmt.Errorf("stint: is this a Stint server? %w", err), false
	}
	return fmt.Errorf("stint: %w", err), false
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
