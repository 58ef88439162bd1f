package stint

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// DefaultConnectTimeout is the longest time that the first calls wait without the option [ConnectTimeout].
const DefaultConnectTimeout = time.Second

// firstCalls gives calls the time to connect, until the first of them has its outcome: connecting, logging in, and a
// program that has just started take longer than a decision.
type firstCalls struct {
	connectTimeout time.Duration

	mu    sync.Mutex
	until time.Time // zero before the first call
	over  bool
}

// within is the time that a call waits.
func (f *firstCalls) within(timeout time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return timeout
	}
	if f.until.IsZero() {
		f.until = time.Now().Add(f.connectTimeout)
	}
	return max(timeout, time.Until(f.until))
}

// end records that a call has its outcome.
func (f *firstCalls) end() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
}

var warning sync.Once

// warnOnce logs the first request of this process that Stint did not decide. Results have the source of each.
func warnOnce(err error) {
	if errors.Is(err, ErrUnavailable) {
		warning.Do(func() {
			slog.Warn("Stint did not decide a request, and the policy answered. Later ones are not logged one by one", "cause", err)
		})
	}
}
