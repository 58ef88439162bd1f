package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// slewPartsPerMillion bounds how much faster or slower than real time the cluster's clock may run while it approaches the
// leader's own wall clock: half a part in a thousand. It is what a leader with a wrong clock can add to a rate.
const slewPartsPerMillion = 500

// clock is the cluster's time as this node knows it, in nanoseconds since the Unix epoch.
//
// It is the last time seen in the log, or told by the leader, plus the real time that has passed here since. A node that
// becomes leader goes on from there: its own wall clock, which may be hours off, only pulls at it, by [slewPartsPerMillion].
type clock struct {
	wall  func() time.Time
	start time.Time // of the monotonic readings

	point atomic.Pointer[point]
	mu    sync.Mutex // one change of point at a time
	live  bool       // point comes from a leader of this run, not only from the log and the time kept before it
}

// point says that the cluster's time was at when the monotonic clock showed mono, and by how many parts in a million it
// has been running faster since.
type point struct {
	at   int64
	mono time.Duration
	slew int64
}

func (p *point) read(mono time.Duration) int64 {
	elapsed := int64(mono - p.mono)
	return p.at + elapsed + elapsed/1_000_000*p.slew
}

func newClock(wall func() time.Time) *clock {
	return &clock{wall: wall, start: time.Now()}
}

func (c *clock) mono() time.Duration { return time.Since(c.start) }

// now is the cluster's time, or 0 while nothing is known of it. It never goes back.
func (c *clock) now() int64 {
	p := c.point.Load()
	if p == nil {
		return 0
	}
	return p.read(c.mono())
}

// observe takes in a time from the log: it was the cluster's then, and so was passed. One behind what is known already is
// old news.
func (c *clock) observe(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, mono := c.point.Load(), c.mono(); p == nil || at > p.read(mono) {
		c.point.Store(&point{at, mono, 0})
	}
}

// hear takes in the leader's own word of what the time was a moment ago. The first one takes the place of whatever was
// guessed before.
func (c *clock) hear(at int64) {
	c.mu.Lock()
	first := !c.live
	c.live = true
	if first {
		c.point.Store(&point{at, c.mono(), 0})
	}
	c.mu.Unlock()
	c.observe(at)
}

// trust makes what is known as good as heard.
func (c *clock) trust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = true
}

// isLive reports whether the time is more than a guess from before this run.
func (c *clock) isLive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// holdBack makes a guess at most at.
func (c *clock) holdBack(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, mono := c.point.Load(), c.mono(); p != nil && !c.live && p.read(mono) > at {
		c.point.Store(&point{at, mono, 0})
	}
}

// stamp is now for a leader: it begins at the wall clock if no time is known yet, and is pulled towards it otherwise.
func (c *clock) stamp() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono, wall := c.mono(), c.wall().UnixNano()
	p := c.point.Load()
	if p == nil {
		c.point.Store(&point{wall, mono, 0})
		return wall
	}
	now := p.read(mono)
	slew := int64(0)
	switch off := wall - now; {
	case off > int64(slewFrom):
		slew = slewPartsPerMillion
	case off < -int64(slewFrom):
		slew = -slewPartsPerMillion
	}
	if slew != p.slew {
		c.point.Store(&point{now, mono, slew})
	}
	return now
}

// slewFrom is how far the wall clock has to be away to pull.
const slewFrom = time.Millisecond

// sleep waits, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// every calls f again and again, until ctx is done.
func every(ctx context.Context, period time.Duration, f func()) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}
