package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestFollowTheWallClock suspends the machine and sets its clock: the clock goes forward with the wall clock, and never
// back.
func TestFollowTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var apart time.Duration // of the wall clock and the monotonic one
		c := New(0)
		c.wall = func() int64 { return time.Now().Add(apart).UnixNano() }
		fired := 0
		if c.OnMove(func() { fired++ }) {
			t.Error("time passes without steps too")
		}
		last, ahead := c.Now(), time.Duration(0)
		for _, step := range []struct {
			name    string
			moved   time.Duration // of the wall clock
			follows bool
		}{
			{"nothing", 0, false},
			{"a correction", followFrom, false},
			{"suspended", 8 * time.Hour, true},
			{"set back", -time.Hour, false},
			{"and further", -24 * time.Hour, false},
			{"forward again, not beyond", 24 * time.Hour, false},
			{"frozen for a week", 7 * 24 * time.Hour, true},
			{"frozen once more", 5 * time.Second, true},
		} {
			time.Sleep(time.Minute)
			if now := c.Now(); now < last+int64(time.Minute) {
				t.Errorf("%s: after a minute the clock has gone on by %v", step.name, time.Duration(now-last))
			}
			apart += step.moved
			ahead = c.Ahead()
			before, firedBefore := c.Now(), fired
			went := c.Follow()
			if last = c.Now(); last-before != int64(went) || went < 0 {
				t.Errorf("%s: it went on by %v, not %v", step.name, time.Duration(last-before), went)
			}
			if (went > 0) != step.follows || (fired > firedBefore) != step.follows || step.follows && (went != -ahead || c.Ahead() != 0) {
				t.Errorf("%s: it was ahead by %v, went on by %v and fired %d timers", step.name, ahead, went, fired-firedBefore)
			}
			if c.Ahead() < -followFrom {
				t.Errorf("%s: it is behind by %v", step.name, -c.Ahead())
			}
		}
	})
}

// A pause of the process between two readings of its clocks, which both of them show, moves the time by nothing.
func TestPauseBetweenReadings(t *testing.T) {
	const pause = 118 * time.Second
	for at := range 16 {
		synctest.Test(t, func(t *testing.T) {
			readings := 0
			read := func() int64 {
				if readings++; readings == at {
					time.Sleep(pause)
				}
				return time.Now().UnixNano()
			}
			start := time.Now().UnixNano()
			c := newClock(0, read, func() int64 { return read() - start })
			for range 5 {
				time.Sleep(time.Second)
				if step := c.Follow(); step != 0 {
					t.Errorf("paused before reading %d: it went on by %v", at, step)
				}
			}
			if readings < at {
				t.Errorf("only %d readings: no pause came", readings)
			}
			if off := c.Now() - time.Now().UnixNano(); off != 0 {
				t.Errorf("paused before reading %d: the time is off by %v", at, time.Duration(off))
			}
		})
	}
}
