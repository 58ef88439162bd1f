package server

import "time"

// Clock reads the wall clock once and counts on from there by the monotonic clock, so that a step of the system's time
// neither hands out tokens nor takes them away.
type Clock struct {
	start     time.Time
	startNano int64
}

// NewClock starts a clock at the system's time.
func NewClock() *Clock {
	now := time.Now()
	return &Clock{start: now, startNano: now.UnixNano()}
}

// Now is nanoseconds since the Unix epoch. It never goes back.
func (c *Clock) Now() int64 { return c.startNano + int64(time.Since(c.start)) }

// Uptime is the time since the clock was started.
func (c *Clock) Uptime() time.Duration { return time.Since(c.start) }
