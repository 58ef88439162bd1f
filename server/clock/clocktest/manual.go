// Package clocktest has clocks for tests.
package clocktest

import (
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/clock"
)

// Manual is a clock that stands still until [Manual.Advance] moves it.
type Manual struct {
	*clock.Clock
	now atomic.Int64 // nanoseconds since the Unix epoch
}

// New returns a clock that stands at a time.
func New(now time.Time) *Manual {
	m := &Manual{}
	m.now.Store(now.UnixNano())
	m.Clock = clock.NewFromSource(m.now.Load, 0)
	return m
}

// Advance moves the clock on and fires the timers that are due.
func (m *Manual) Advance(d time.Duration) {
	m.now.Add(int64(d))
	m.Moved()
}
