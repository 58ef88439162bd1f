// Package clock is a cluster's time as one of its nodes knows it.
package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/internal/clockpair"
)

// SlewPartsPerMillion bounds how much faster or slower than real time the cluster's clock may run while it approaches
// the leader's own wall clock: half a part in a thousand. A leader with a wrong clock can change a rate by no more.
const SlewPartsPerMillion = 500

// A follower's clock that is ahead of the leader's falls back by followPartsPerMillion, which is faster than the
// leader's own clock when it is pulled back. A follower's clock counts as ahead when the leader has sent no time as
// late as the clock's for followAfter: messages are always a little late.
const (
	followPartsPerMillion = 2 * SlewPartsPerMillion
	followAfter           = time.Second
)

// Clock is the cluster's time as this node knows it, in nanoseconds since the Unix epoch.
//
// It is the last time seen in the log or received from the leader, plus the real time that has passed here since. A
// node that becomes leader continues from there: its own wall clock, which may be hours off, only pulls the time
// towards it, by [SlewPartsPerMillion]. A follower's wall clock has no influence, and a follower that runs ahead falls
// back to the leader: otherwise time would leap when this node becomes leader.
type Clock struct {
	wall  func() time.Time
	Leads func() bool
	start time.Time // of the monotonic readings
	// Passed is the time that has passed here, as points count it: the monotonic reading, unless a test moves the time.
	Passed func() time.Duration

	point     atomic.Pointer[point]
	mu        sync.Mutex // held while point changes
	confirmed bool       // see IsConfirmed
	// reached is when the time from a leader was last as late as this clock's, by the monotonic clock.
	reached time.Duration
	up      func() time.Duration // see [Clock.CountSuspends]; nil for a clock that counts none
	// upAhead is up minus Passed when a suspend was last counted, or more: the least that any reading since has allowed.
	upAhead time.Duration
}

// point is a reading of the cluster's time, taken when the monotonic clock showed mono, and the slew since, in parts
// per million.
type point struct {
	at   int64
	mono time.Duration
	slew int64
}

func (p *point) read(mono time.Duration) int64 {
	elapsed := int64(mono - p.mono)
	return p.at + elapsed + elapsed/1_000_000*p.slew
}

// compare returns the time at a reading of the monotonic clock and the wall clock, and how far the wall clock is ahead
// of it.
func (p *point) compare(clocks clockpair.Pair) (now int64, off time.Duration) {
	now = p.read(time.Duration(clocks.After))
	ahead := now - clocks.After // of the monotonic clock
	return now, time.Duration(clocks.Ahead(ahead) - ahead)
}

// New returns a clock that knows no time yet. wall is this node's own clock.
func New(wall func() time.Time) *Clock {
	c := &Clock{wall: wall, Leads: func() bool { return false }, start: time.Now()}
	c.Passed = c.Mono
	return c
}

// Mono returns the time since the clock was made, which nothing can set.
func (c *Clock) Mono() time.Duration { return time.Since(c.start) }

// Moment is a reading of two clocks, in nanoseconds: the monotonic clock, which may stand still while the machine
// sleeps, and the wall clock, which may be set.
type Moment struct{ Mono, Wall int64 }

// Since returns the time since an earlier moment, by the clock that shows more.
func (m Moment) Since(earlier Moment) time.Duration {
	return time.Duration(max(m.Mono-earlier.Mono, m.Wall-earlier.Wall))
}

// Moment reads both clocks.
func (c *Clock) Moment() Moment { return Moment{int64(c.Mono()), c.wall().UnixNano()} }

// Reading is one of [Clock.Mono] and [Clock.NowOrWall], for all decisions of a batch.
type Reading struct {
	Mono    time.Duration
	Cluster int64
}

// CountSuspends makes the clock count the time while the machine is suspended, when the monotonic clock stands still.
// up returns the time since the machine's boot, asleep or not, which nobody can set.
func (c *Clock) CountSuspends(up func() time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = up
	c.upAhead = time.Duration(c.readUp().Most())
}

func (c *Clock) readUp() clockpair.Pair {
	return clockpair.Read(c.passedNanos, func() int64 { return int64(c.up()) })
}

func (c *Clock) passedNanos() int64 { return int64(c.Passed()) }

// NoteSuspend moves the time forward by the time that the machine was suspended since the last call.
func (c *Clock) NoteSuspend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteSuspend()
}

// noteSuspend is [Clock.NoteSuspend]. The caller holds mu, and calls it before it takes over a time of another node
// that is far from this clock's: that time may include the suspend, which would count twice if it were added later.
func (c *Clock) noteSuspend() {
	if c.up == nil {
		return
	}
	clocks := c.readUp()
	// upAhead is too large if the process was paused during its reading
	c.upAhead = min(c.upAhead, time.Duration(clocks.Most()))
	slept := time.Duration(clocks.Ahead(int64(c.upAhead))) - c.upAhead
	if slept < leastSuspend {
		return
	}
	c.upAhead += slept
	if p, mono := c.point.Load(), c.Passed(); p != nil {
		c.point.Store(&point{p.read(mono) + int64(slept), mono, p.slew})
	}
}

// leastSuspend is more than the time between two readings of clocks.
const leastSuspend = 100 * time.Millisecond

// Ahead returns how far the cluster's time is ahead of this node's wall clock; 0 while the time is unknown.
func (c *Clock) Ahead() time.Duration {
	p := c.point.Load()
	if p == nil {
		return 0
	}
	_, behind := p.compare(clockpair.Read(c.passedNanos, c.wallNanos))
	return -behind
}

// Now returns the cluster's time, or 0 while it is unknown. The time never goes back.
func (c *Clock) Now() int64 {
	p := c.point.Load()
	if p == nil {
		return 0
	}
	return p.read(c.Passed())
}

// NowOrWall is Now, or this node's own clock while the cluster's time is unknown.
func (c *Clock) NowOrWall() int64 {
	if now := c.Now(); now > 0 {
		return now
	}
	return c.wall().UnixNano()
}

// Observe advances the clock to a time from the log, which the cluster has certainly reached. An earlier time is
// ignored.
func (c *Clock) Observe(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, mono := c.current(at); p == nil || at > p.read(mono) {
		c.point.Store(&point{at, mono, 0})
	}
}

// current returns the point, and the monotonic time, to compare another node's time with. If that time may include a
// suspend that this clock has not counted, it counts it first. The caller holds mu.
func (c *Clock) current(at int64) (*point, time.Duration) {
	p, mono := c.point.Load(), c.Passed()
	if p != nil && at-p.read(mono) < int64(leastSuspend) && c.confirmed {
		return p, mono
	}
	c.noteSuspend()
	return c.point.Load(), mono
}

// ObserveLeader receives a time that the leader sent a moment ago. The first such time replaces an earlier guess; later
// times advance the clock, or slow it down.
func (c *Clock) ObserveLeader(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, mono := c.current(at)
	switch {
	case p == nil || !c.confirmed || at >= p.read(mono):
		c.point.Store(&point{at, mono, 0})
		c.confirmed, c.reached = true, c.Mono()
	case c.Mono()-c.reached > followAfter:
		c.setSlew(-followPartsPerMillion)
	}
}

// Follow ends the pull of the wall clock, on a node that no longer leads.
func (c *Clock) Follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = c.Mono()
	c.setSlew(0)
}

// setSlew lets the clock run on from its present time, if it has one, with another slew. The caller holds mu.
func (c *Clock) setSlew(slew int64) {
	if p, mono := c.point.Load(), c.Passed(); p != nil && p.slew != slew {
		c.point.Store(&point{p.read(mono), mono, slew})
	}
}

// Confirm marks the current time as confirmed by a leader.
func (c *Clock) Confirm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed = true
}

// IsConfirmed reports whether a leader of this run has confirmed the time. Otherwise it is a guess from the log and
// the time saved by the last run.
func (c *Clock) IsConfirmed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.confirmed
}

// CapAt lowers an unconfirmed time to at most at.
func (c *Clock) CapAt(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, mono := c.current(at); p != nil && !c.confirmed && p.read(mono) > at {
		c.point.Store(&point{at, mono, 0})
	}
}

// Stamp returns the time for an entry. It is Now, but if no time is known yet the wall clock begins it, and otherwise
// the leader's wall clock pulls it.
func (c *Clock) Stamp() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.point.Load()
	if p == nil {
		ahead := clockpair.FirstAhead(c.passedNanos, c.wallNanos)
		// the wall clock includes the suspend; a suspend after its reading may be left out, but never counts twice
		c.noteSuspend()
		mono := c.Passed()
		c.point.Store(&point{ahead + int64(mono), mono, 0})
		return ahead + int64(mono)
	}
	now, off := p.compare(clockpair.Read(c.passedNanos, c.wallNanos))
	if !c.Leads() { // read under mu: follow has the last word
		return now
	}
	switch {
	case off > slewFrom:
		c.setSlew(SlewPartsPerMillion)
	case off < -slewFrom:
		c.setSlew(-SlewPartsPerMillion)
	default:
		c.setSlew(0)
	}
	return now
}

func (c *Clock) wallNanos() int64 { return c.wall().UnixNano() }

// slewFrom is how far off the wall clock has to be to pull.
const slewFrom = time.Millisecond

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// UntilNext returns the time until the time of day is a multiple of period. So all groups of a node do their periodic
// work at the same time, and the process is woken once.
func UntilNext(period time.Duration) time.Duration {
	return period - time.Duration(time.Now().UnixNano()%int64(period))
}
