package server

import (
	"sync"
	"time"
)

// Clock reads the wall clock once and counts on from there by the monotonic clock, so that a step of the system's time
// neither hands out tokens nor takes them away.
type Clock struct {
	start     time.Time
	startNano int64
	manual    *manualTime // nil but for tests
}

// NewClock starts a clock at the system's time.
func NewClock() *Clock { return NewClockFrom(0) }

// NewClockFrom starts a clock at the system's time, or at least, in nanoseconds since the Unix epoch, if that is later:
// time goes on from where kept state left it, and what was taken then is not given back.
func NewClockFrom(least int64) *Clock {
	now := time.Now()
	return &Clock{start: now, startNano: max(now.UnixNano(), least)}
}

// Now is nanoseconds since the Unix epoch. It never goes back.
func (c *Clock) Now() int64 {
	if c.manual != nil {
		return c.manual.read()
	}
	return c.startNano + int64(time.Since(c.start))
}

// Uptime is the time since the clock was started.
func (c *Clock) Uptime() time.Duration { return time.Duration(c.Now() - c.startNano) }

// manualTime is time that stands still until it is advanced.
type manualTime struct {
	mu       sync.Mutex
	now      int64
	watchers []func()
}

// NewManualClock returns a clock for tests: it stands still at a time until [Clock.Advance] moves it.
func NewManualClock(now time.Time) *Clock {
	return &Clock{startNano: now.UnixNano(), manual: &manualTime{now: now.UnixNano()}}
}

// Advance moves a manual clock on and wakes whoever waits for the time it then is.
func (c *Clock) Advance(d time.Duration) {
	c.manual.mu.Lock()
	c.manual.now += int64(d)
	watchers := c.manual.watchers
	c.manual.mu.Unlock()
	for _, wake := range watchers {
		wake()
	}
}

// watch has f called after every Advance; on a clock that runs by itself it does nothing.
func (c *Clock) watch(f func()) {
	if c.manual == nil {
		return
	}
	c.manual.mu.Lock()
	defer c.manual.mu.Unlock()
	c.manual.watchers = append(c.manual.watchers, f)
}

func (m *manualTime) read() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}
