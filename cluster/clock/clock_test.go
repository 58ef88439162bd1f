package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	second := int64(time.Second)
	synctest.Test(t, func(t *testing.T) {
		skew := time.Hour
		c := New(func() time.Time { return time.Now().Add(skew) })
		if c.Now() != 0 {
			t.Error("a clock that knows nothing shows a time")
		}
		c.Observe(1000 * second)
		time.Sleep(10 * time.Second)
		if got := c.Now(); got != 1010*second {
			t.Errorf("ten seconds after 1000 it is %d", got/second)
		}
		c.Observe(1005 * second)
		if got := c.Now(); got != 1010*second {
			t.Errorf("old news moved the clock to %d", got/second)
		}
		// The first time from a leader replaces a guess, even backwards; from then on time only goes forward.
		c.ObserveLeader(1002 * second)
		c.ObserveLeader(1001 * second)
		if got := c.Now(); got != 1002*second {
			t.Errorf("after the leader's word it is %d", got/second)
		}
	})
}

// A leader's own clock, an hour off, pulls by no more than the tolerance, and time never goes back.
func TestLeaderWithAWrongClock(t *testing.T) {
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := New(func() time.Time { return time.Now().Add(skew) })
			c.Leads = func() bool { return true }
			begin := time.Now().UnixNano()
			c.ObserveLeader(begin)
			last := c.Stamp()
			for range 10_000 {
				time.Sleep(100 * time.Millisecond)
				now := c.Stamp()
				if now <= last {
					t.Fatalf("time went back by %d ns", last-now)
				}
				last = now
			}
			passed, tolerance := int64(1000*time.Second), int64(1000*time.Second)/1_000_000*SlewPartsPerMillion
			if off := last - begin - passed; max(off, -off) > tolerance || max(off, -off) < tolerance/2 {
				t.Errorf("with a clock %v off, %v passed as %v", skew, time.Duration(passed), time.Duration(last-begin))
			}
		})
	}
}

// A leader whose clock was set while it was down uses the earliest time that the others report.
func TestGuessIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(time.Now)
		c.Observe(5000)
		c.CapAt(4000)
		c.CapAt(4500)
		if got := c.Now(); got != 4000 {
			t.Errorf("held back to %d", got)
		}
		c.Confirm()
		c.CapAt(1000)
		if got := c.Now(); got != 4000 {
			t.Errorf("what is trusted was held back to %d", got)
		}
	})
}

// A machine was suspended, and hears of the time from a leader, from the log or from the others before it notices: the
// time that passed meanwhile counts once, in any order.
func TestSuspendCountsOnce(t *testing.T) {
	const night = 8 * time.Hour
	for name, hear := range map[string]func(c *Clock, at int64){
		"a leader": (*Clock).ObserveLeader, "the log": (*Clock).Observe, "the others": (*Clock).CapAt,
		"its wall clock": func(c *Clock, _ int64) { c.Stamp() }, "nobody": func(*Clock, int64) {},
	} {
		for _, state := range []string{"confirmed", "guessed", "unknown"} {
			synctest.Test(t, func(t *testing.T) {
				var slept time.Duration
				c := New(func() time.Time { return time.Now().Add(slept) })
				c.CountSuspends(func() time.Duration { return time.Duration(time.Now().UnixNano()) + slept })
				begin := time.Now().UnixNano()
				if state != "unknown" {
					c.Observe(begin)
				}
				if state == "confirmed" {
					c.Confirm()
				}
				time.Sleep(time.Second)
				slept = night
				hear(c, begin+int64(night+time.Second))
				c.NoteSuspend()
				c.NoteSuspend()
				got, want := c.Now(), begin+int64(night+time.Second)
				if state == "unknown" && (name == "the others" || name == "nobody") {
					want = 0
				}
				if got != want {
					t.Errorf("%s was heard, time %s: it is off by %v", name, state, time.Duration(got-want))
				}
			})
		}
	}
}

// pausing is a clock that stops before one of its readings, like a stopped process.
type pausing struct {
	at, readings int // the reading, counted from 1
	pause        time.Duration
}

func (p *pausing) read() {
	if p.readings++; p.readings == p.at {
		time.Sleep(p.pause)
	}
}

// A pause of the process between two readings of its clocks is no suspend of the machine, and does not set the time.
func TestPauseBetweenReadings(t *testing.T) {
	const pause = time.Minute
	for at := range 32 {
		synctest.Test(t, func(t *testing.T) {
			p := &pausing{at: at % 16, pause: pause}
			start := time.Now()
			c := New(func() time.Time { p.read(); return time.Now() })
			c.Passed = func() time.Duration { p.read(); return c.Mono() }
			up := func() time.Duration { p.read(); return time.Since(start) }
			c.Leads = func() bool { return true }
			if at >= 16 { // the last run saved the time
				passed := c.Passed
				c.Passed = c.Mono
				c.Observe(time.Now().UnixNano())
				c.Passed = passed
			}
			c.CountSuspends(up)
			c.Stamp()
			for range 3 {
				c.NoteSuspend()
				c.Stamp()
				if ahead := c.Ahead(); ahead > slewFrom || ahead < -slewFrom {
					t.Errorf("paused before reading %d: ahead by %v", at, ahead)
				}
			}
			if p.readings < p.at {
				t.Errorf("only %d readings: no pause came", p.readings)
			}
			p.at = 0
			if off := c.Now() - time.Now().UnixNano(); off > 0 || off < -int64(slewFrom) {
				t.Errorf("paused before reading %d: the time is off by %v", at, time.Duration(off))
			}
		})
	}
}

// The time between two moments is never too short: not if the machine was suspended in between, when the monotonic
// clock stands still, not if its wall clock was set back, and wherever the process is stopped around a reading of the
// wall clock.
func TestPauseInAMoment(t *testing.T) {
	for at := range 5 {
		for _, moved := range []time.Duration{0, time.Minute, -time.Hour} { // the wall clock against the monotonic one
			synctest.Test(t, func(t *testing.T) {
				apart := time.Duration(0)
				p := &pausing{at: at, pause: 2 * time.Second}
				c := New(func() time.Time {
					p.read()
					defer p.read()
					return time.Now().Add(apart)
				})
				earlier := c.Moment()
				time.Sleep(time.Second)
				apart = moved
				if since, passed := c.Moment().Since(earlier), time.Second+max(moved, 0); since < passed {
					t.Errorf("stopped at %d, wall clock moved by %v: %v, in %v", at, moved, since, passed)
				}
				if p.readings != 4 {
					t.Errorf("%d places to stop at, want 4", p.readings)
				}
			})
		}
	}
}
