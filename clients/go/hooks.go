package stint

import (
	"context"
	"time"
)

// Hooks are called as things happen; any of them may be nil. They are called by the goroutine that made the request (and
// Breaker by one of the limiter's own), so they must be quick and may be called by many at once.
type Hooks struct {
	// Decision is called after every decision, and after calls that returned an error.
	Decision func(ctx context.Context, d Decision)
	// Breaker is called when the circuit breaker opens, with the failure that made it, and with nil when it closes.
	Breaker func(open bool, cause error)
	// Lease is called when tokens were taken ahead for a lease (n > 0) and when some were given back (n < 0).
	Lease func(key string, n int64)
}

// A Decision is what [Hooks] are told about one request.
type Decision struct {
	Operation string        // the method without its N: "Allow", "AllowAtMost", "Peek", "Force", "Reserve", "All", "Check"
	Key       string        // the key; for All those of all limits with a space between, for Check the policy's name
	Tokens    int64         // how many were asked for
	Allowed   bool          // the answer
	Source    Source        // who gave it
	Err       error         // the call's err, or the Result's Cause
	Duration  time.Duration // how long the caller waited for it
}

func (l *Limiter) observe(ctx context.Context, d Decision) {
	for _, h := range l.hooks {
		if h.Decision != nil {
			h.Decision(ctx, d)
		}
	}
}
