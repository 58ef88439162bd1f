// Package clock has the time of decisions, which never goes back.
package clock

import (
	"sync"
	"time"
)

// Clock reads the wall clock once and counts on from there by the monotonic clock, so that a step of the system's time
// neither hands out tokens nor takes them away.
type Clock struct {
	start     time.Time
	startNano int64
	source    *source // nil for the system's clock
}

// New starts a clock at the system's time, or at least, in nanoseconds since the Unix epoch, if that is later:
// time continues from the recovered state, so that no token is granted a second time.
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

// source is another source of time than the system's.
type source struct {
	read  func() int64
	ahead int64 // of the time that read returns

	mu       sync.Mutex
	watchers []func()
}

// NewFromSource returns a clock whose time is what read returns, in nanoseconds since the Unix epoch, or as much later as
// least is at the start. Whoever moves the time calls [Clock.Moved]. Tests use it.
func NewFromSource(read func() int64, least int64) *Clock {
	s := &source{read: read, ahead: max(0, least-read())}
	return &Clock{startNano: read() + s.ahead, source: s}
}

// Moved fires the timers that are due at the time of the clock's source.
func (c *Clock) Moved() {
	c.source.mu.Lock()
	watchers := c.source.watchers
	c.source.mu.Unlock()
	for _, wake := range watchers {
		wake()
	}
}

// OnMove registers f, which [Clock.Moved] calls. On the system's clock it does nothing.
func (c *Clock) OnMove(f func()) {
	if c.source == nil {
		return
	}
	c.source.mu.Lock()
	defer c.source.mu.Unlock()
	c.source.watchers = append(c.source.watchers, f)
}
