package stint

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultConnectTimeout is the longest time that the first calls wait without the option [ConnectTimeout].
const DefaultConnectTimeout = time.Second

// firstCalls gives calls the time to connect, until the first of them has its outcome: connecting, logging in, and a
// program that has just started take longer than a decision.
type firstCalls struct {
	connectTimeout time.Duration

	over  atomic.Bool // read without the lock: nearly all calls are later ones
	mu    sync.Mutex
	until time.Time // zero before the first call
}

// within is the time that a call waits.
func (f *firstCalls) within(timeout time.Duration) time.Duration {
	if f.over.Load() {
		return timeout
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		f.until = time.Now().Add(f.connectTimeout)
	}
	return max(timeout, time.Until(f.until))
}

// end records that a call has its outcome.
func (f *firstCalls) end() {
	if !f.over.Load() { // a store would take the cache line from other callers
		f.over.Store(true)
	}
}

var warning, lateWarning sync.Once

// warnLate logs the first settlement of this process that charged nothing.
func warnLate(id string) {
	lateWarning.Do(func() {
		slog.Warn("Stint does not know a request that was settled, and its true cost was not charged: Remember is over, or nothing was taken under the ID. Later ones are not logged one by one", "id", id)
	})
}

// warnOnce logs the first request of this process that Stint did not decide. Results have the source of each.
func warnOnce(err error) {
	if errors.Is(err, ErrUnavailable) {
		warning.Do(func() {
			slog.Warn("Stint did not decide a request, so the fallback did. Later ones are not logged one by one", "cause", err)
		})
	}
}
