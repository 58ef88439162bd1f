// Package clock has the time of decisions, which never goes back.
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock reads the wall clock once and counts on from there by the monotonic clock, so that a step of the system's time
// neither hands out tokens nor takes them away.
type Clock struct {
	start     time.Time
	startNano int64
	test      *testTime // nil but for tests
}

// New starts a clock at the system's time.
func New() *Clock { return NewFrom(0) }

// NewFrom starts a clock at the system's time, or at least, in nanoseconds since the Unix epoch, if that is later:
// time continues from the recovered state, so that no token is granted a second time.
func NewFrom(least int64) *Clock {
	now := time.Now()
	return &Clock{start: now, startNano: max(now.UnixNano(), least)}
}

// Now is nanoseconds since the Unix epoch. It never goes back.
func (c *Clock) Now() int64 {
	if c.test != nil {
		return c.test.read() + c.test.ahead
	}
	return c.startNano + int64(time.Since(c.start))
}

// Started is the time at which the clock was started, in nanoseconds since the Unix epoch.
func (c *Clock) Started() int64 { return c.startNano }

// Uptime is the time since the clock was started.
func (c *Clock) Uptime() time.Duration { return time.Duration(c.Now() - c.startNano) }

// testTime is time that a test moves.
type testTime struct {
	read  func() int64
	ahead int64 // of the time that read returns
	now   atomic.Int64

	mu       sync.Mutex
	watchers []func()
}

// NewManual returns a clock for tests: it stands still at a time until [Clock.Advance] moves it.
func NewManual(now time.Time) *Clock {
	t := &testTime{}
	t.now.Store(now.UnixNano())
	t.read = t.now.Load
	return &Clock{startNano: now.UnixNano(), test: t}
}

// NewRead returns a clock for tests: the time is what read returns, in nanoseconds since the Unix epoch, or as much
// later as least is at the start. The test that moves the time calls [Clock.Moved].
func NewRead(read func() int64, least int64) *Clock {
	t := &testTime{read: read, ahead: max(0, least-read())}
	return &Clock{startNano: read() + t.ahead, test: t}
}

// Advance moves a manual clock on and fires the timers that are due.
func (c *Clock) Advance(d time.Duration) {
	c.test.now.Add(int64(d))
	c.Moved()
}

// Moved fires the timers that are due at the time of a test's clock.
func (c *Clock) Moved() {
	c.test.mu.Lock()
	watchers := c.test.watchers
	c.test.mu.Unlock()
	for _, wake := range watchers {
		wake()
	}
}

// OnMove registers f, which is called after each move of a test clock. On a real clock it does nothing.
func (c *Clock) OnMove(f func()) {
	if c.test == nil {
		return
	}
	c.test.mu.Lock()
	defer c.test.mu.Unlock()
	c.test.watchers = append(c.test.watchers, f)
}
