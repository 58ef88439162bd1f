package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A machine is suspended before each reading of a clock in turn: the night counts at most once, so the time is never
// ahead.
func TestSuspendAtEachReading(t *testing.T) {
	const night = 8 * time.Hour
	for reading := 1; reading <= 30; reading++ {
		synctest.Test(t, func(t *testing.T) {
			var slept time.Duration
			readings, start := 0, time.Now()
			read := func() {
				if readings++; readings == reading {
					slept += night
				}
			}
			c := New(func() time.Time { read(); return time.Now().Add(slept) })
			c.Passed = func() time.Duration { read(); return time.Since(start) }
			c.CountSuspends(func() time.Duration { read(); return time.Since(start) + slept })
			for range 3 {
				c.Stamp()
				c.NoteSuspend()
			}
			if readings < reading {
				return // there is no such reading
			}
			if ahead := c.Now() - time.Now().Add(slept).UnixNano(); ahead > 0 {
				t.Errorf("suspended at reading %d: the time is ahead by %v", reading, time.Duration(ahead))
			}
		})
	}
}

// A process is stopped before every reading of the time since the boot, or after every one, while it begins: no pause
// is taken for a suspend, and the next suspend counts in full.
func TestPauseAtEveryReading(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var slept, pause time.Duration
			c := New(time.Now)
			begin := time.Now().UnixNano()
			c.Observe(begin)
			c.Confirm()
			up := func() time.Duration {
				if !after {
					time.Sleep(pause)
				}
				read := time.Duration(time.Now().UnixNano()) + slept
				if after {
					time.Sleep(pause)
				}
				return read
			}
			pause = time.Minute
			c.CountSuspends(up)
			pause = 0
			c.NoteSuspend()
			if ahead := c.Now() - time.Now().UnixNano(); ahead != 0 {
				t.Errorf("paused after the readings %v: the time is ahead by %v", after, time.Duration(ahead))
			}
			slept = time.Hour
			c.NoteSuspend()
			if ahead := c.Now() - time.Now().UnixNano(); ahead != int64(time.Hour) {
				t.Errorf("paused after the readings %v: a suspend of an hour counts %v", after, time.Duration(ahead))
			}
		})
	}
}
