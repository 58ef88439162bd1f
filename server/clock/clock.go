// Package clock tells the time for decisions. It never goes back.
package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/internal/clockpair"
)

// Clock starts at the wall clock's time and goes on by the monotonic clock, and follows the wall clock forward: see
// [Clock.Follow]. A wall clock that is set back takes no tokens away and adds none.
type Clock struct {
	wall      func() int64
	mono      func() int64 // nanoseconds since start
	start     time.Time
	startNano int64        // the time at start
	followed  atomic.Int64 // nanoseconds by which it has followed the wall clock
	source    func() int64 // the time in place of the system's; nil for the system's
	ahead     int64        // of the source

	mu       sync.Mutex
	watchers []func()
}

// New starts a clock at the system's time, or at the time least, if that is later, in nanoseconds since the Unix epoch.
// With the time of the recovered state as least, no token is granted a second time.
func New(least int64) *Clock { return newClock(least, wallTime, nil) }

// newClock returns a clock by the machine's clocks, or by other ones in tests.
func newClock(least int64, wall, mono func() int64) *Clock {
	c := &Clock{wall: wall, mono: mono, start: time.Now()}
	if c.mono == nil {
		c.mono = func() int64 { return int64(time.Since(c.start)) }
	}
	c.startNano = max(clockpair.FirstAhead(c.mono, c.wall), least)
	return c
}

func wallTime() int64 { return time.Now().UnixNano() }

// Now is nanoseconds since the Unix epoch. It never goes back.
func (c *Clock) Now() int64 {
	if c.source != nil {
		return c.source() + c.ahead
	}
	return c.startNano + int64(time.Since(c.start)) + c.followed.Load()
}

// Wall is the time of the machine's own clock, nanoseconds since the Unix epoch. It may go back.
func (c *Clock) Wall() int64 { return c.wall() }

// Ahead is the time by which the clock is ahead of the machine's own, because that was ahead once, or was set back.
func (c *Clock) Ahead() time.Duration {
	if c.source != nil {
		return time.Duration(c.Now() - c.wall())
	}
	ahead := c.startNano + c.followed.Load() // of the monotonic clock
	return time.Duration(ahead - clockpair.Read(c.mono, c.wall).Ahead(ahead))
}

// followFrom is how far the wall clock has to be ahead to be followed. NTP corrects smaller differences by running
// faster, and the monotonic clock with it.
const followFrom = time.Second

// Follow moves the clock forward to the wall clock if that is more than a second ahead, and returns by how much: the
// machine was suspended or frozen, for which the monotonic clock stands still, or its clock was set. A pause of this
// process is no reason: both clocks show it. It has to be called regularly.
func (c *Clock) Follow() (step time.Duration) {
	if c.source != nil {
		return 0
	}
	c.mu.Lock()
	if step = -c.Ahead(); step <= followFrom {
		step = 0
	}
	c.followed.Add(int64(step))
	c.mu.Unlock()
	if step > 0 {
		c.Moved()
	}
	return step
}

// Started is the time at which the clock was started, in nanoseconds since the Unix epoch.
func (c *Clock) Started() int64 { return c.startNano }

// Uptime is the time since the clock was started.
func (c *Clock) Uptime() time.Duration { return time.Duration(c.Now() - c.startNano) }

// NewFromSource returns a clock for tests. Its time is that of read, in nanoseconds since the Unix epoch; if least is
// later at the start, it stays ahead of read by the difference. The caller calls [Clock.Moved] after each change of the
// time.
func NewFromSource(read func() int64, least int64) *Clock {
	c := &Clock{wall: read, source: read, ahead: max(0, least-read())}
	c.startNano = c.Now()
	return c
}

// Moved fires the timers that are due, after a step of the time.
func (c *Clock) Moved() {
	c.mu.Lock()
	watchers := c.watchers
	c.mu.Unlock()
	for _, wake := range watchers {
		wake()
	}
}

// OnMove registers f, which is called after each step of the time. It returns false if time also passes without steps:
// f then needs a timer as well.
func (c *Clock) OnMove(f func()) (onlySteps bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(c.watchers, f)
	return c.source != nil
}
