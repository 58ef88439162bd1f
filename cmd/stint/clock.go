package main

import (
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/server/clock"
)

// testTime, in nanoseconds since the Unix epoch, takes the place of the system's clocks wherever limits are decided.
// Only tests of this package set it, in a separate program; a released program cannot.
var testTime func() int64

// newClock starts a server's clock, not before the time of the state on disk.
func newClock(least int64) *clock.Clock {
	if testTime == nil {
		return clock.New(least)
	}
	clock := clock.NewFromSource(testTime, least)
	go func() { // another process advances the time
		for last := int64(0); ; time.Sleep(time.Millisecond) {
			if now := testTime(); now != last {
				last = now
				clock.Moved()
			}
		}
	}()
	return clock
}

// now is the system's time.
func now() time.Time {
	if testTime == nil {
		return time.Now()
	}
	return time.Unix(0, testTime())
}

// withTestTime sets a node's clocks to the tests' time.
func withTestTime(o cluster.Options) cluster.Options {
	if testTime != nil {
		begin := testTime()
		o.Wall = now
		o.Passed = func() time.Duration { return time.Duration(testTime() - begin) }
		o.SinceBoot = func() (string, time.Duration) { return "test", time.Duration(testTime()) }
	}
	return o
}
