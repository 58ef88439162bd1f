package stint

import (
	"context"
	"log/slog"
	"time"
)

// Hooks are called on events; any of them may be nil. They are called by the goroutine that made the request (Breaker
// by a goroutine of the limiter), so they must be quick and safe for concurrent use.
type Hooks struct {
	// Decision is called after every decision, and after calls that returned an error.
	Decision func(ctx context.Context, d Decision)
	// Breaker is called when the circuit breaker opens, with the failure that opened it, and with nil when it closes.
	// Without this hook, both are logged.
	Breaker func(open bool, cause error)
	// Lease is called when tokens were taken ahead for a lease (n > 0) and when some were given back (n < 0).
	Lease func(key string, n int64)
}

// A Decision describes one request to [Hooks].
type Decision struct {
	Operation string        // the method without its N: "Allow", "AllowAtMost", "AllowClass", "Peek", "Force", "Reserve", "All", "Check"
	Key       string        // the key as sent to the server; for All those of all limits with a space between, for Check the policy's name
	Tokens    int64         // the number requested
	Allowed   bool          // the answer
	Source    Source        // its origin
	Err       error         // the call's err, or the Result's Cause
	Duration  time.Duration // how long the caller waited for it
}

// tellBreaker tells the hooks that the breaker opened or closed, and the log if no hook hears it.
func tellBreaker(hooks []Hooks, open bool, cause error) {
	isHeard := false
	for _, h := range hooks {
		if h.Breaker != nil {
			isHeard = true
			h.Breaker(open, cause)
		}
	}
	switch {
	case isHeard:
	case open:
		slog.Warn("Stint does not answer, so the fallback decides", "cause", cause)
	default:
		slog.Info("Stint answers again")
	}
}

// tell tells the hooks of a decision with the call's error, or the reason why Stint did not decide.
func (l *Limiter) tell(ctx context.Context, d Decision, err, cause error) {
	if d.Err = err; err == nil {
		d.Err = cause
	}
	if d.Source == Fallback || d.Source == Local {
		warnOnce(d.Err)
	}
	for _, h := range l.hooks {
		if h.Decision != nil {
			h.Decision(ctx, d)
		}
	}
}
