// Package clock tells the time for decisions. It never goes back.
package clock

import (
	"sync"
	"time"
)

// Clock starts at the wall clock's time and goes on by the monotonic clock. So a change of the system's time neither adds
// tokens nor takes any away.
type Clock struct {
	start     time.Time
	startNano int64
	source    *source // nil for the system's clock
}

// New starts a clock at the system's time, or at the time least, if that is later, in nanoseconds since the Unix epoch.
// With the time of the recovered state as least, no token is granted a second time.
func New(least int64) *Clock {
	now := time.Now()
	return &Clock{start: now, startNano: max(now.UnixNano(), least)}
}

// Now is nanoseconds since the Unix epoch. It never goes back.
func (c *Clock) Now() int64 {
	if c.source != nil {
		return c.source.read() + c.source.ahead
	}
	return c.startNano + int64(time.Since(c.start))
}

// Started is the time at which the clock was started, in nanoseconds since the Unix epoch.
func (c *Clock) Started() int64 { return c.startNano }

// Uptime is the time since the clock was started.
func (c *Clock) Uptime() time.Duration { return time.Duration(c.Now() - c.startNano) }

// source is a source of time in place of the system's.
type source struct {
	read  func() int64
	ahead int64 // of the time that read returns

	mu       sync.Mutex
	watchers []func()
}

// NewFromSource returns a clock for tests. Its time is that of read, in nanoseconds since the Unix epoch; if least is later
// at the start, it stays ahead of read by the difference. The caller calls [Clock.Moved] after each change of the time.
func NewFromSource(read func() int64, least int64) *Clock {
	s := &source{read: read, ahead: max(0, least-read())}
	return &Clock{startNano: read() + s.ahead, source: s}
}

// Moved fires the timers that are due, after a change of the time of [NewFromSource].
func (c *Clock) Moved() {
	c.source.mu.Lock()
	watchers := c.source.watchers
	c.source.mu.Unlock()
	for _, wake := range watchers {
		wake()
	}
}

// OnMove registers f, which [Clock.Moved] calls. On the system's clock it does nothing and returns false: f then needs a timer.
func (c *Clock) OnMove(f func()) bool {
	if c.source == nil {
		return false
	}
	c.source.mu.Lock()
	defer c.source.mu.Unlock()
	c.source.watchers = append(c.source.watchers, f)
	return true
}
