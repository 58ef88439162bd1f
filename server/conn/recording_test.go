package conn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/latency"
)

// majority is a decider that waits a second for others, and carries a batch out in some time, before or after.
type majority struct {
	*decider.Local
	clock         *clocktest.Manual
	before, after time.Duration
}

func (m *majority) Decide(b *engine.Batch) bool {
	m.clock.Advance(m.before)
	copied := b.Clone()
	copied.Done = nil
	go func() {
		synctest.Wait() // the session has noted when its wait began, and waits
		m.clock.Advance(time.Second)
		m.clock.Advance(m.after)
		m.Local.Decide(copied)
		b.Worked = int64(m.after)
		b.Done()
	}()
	return false
}

// A command that waits for others is slow only by the time in which it is carried out, where it begins and where it
// ends.
func TestWaitIsNoExecution(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after time.Duration
		micros        int64 // of the entry, 0 for none
	}{
		{"waits", 0, 0, 0},
		{"is carried out within the threshold", 4 * time.Millisecond, 5 * time.Millisecond, 0},
		{"is slow before it waits", 30 * time.Millisecond, 0, 30_000},
		{"is slow on another goroutine", 0, 40 * time.Millisecond, 40_000},
		{"is slow in sum", 7 * time.Millisecond, 6 * time.Millisecond, 13_000},
	} {
		for _, commands := range [][]string{{"SET k v"}, {"SET k v", "GET k"}, {"MULTI", "SET k v", "GET k", "EXEC"}, {"CL.THROTTLE r 15 30 60"}} {
			synctest.Test(t, func(t *testing.T) {
				clock := clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
				h := newEnv(t, store.New(store.Config{Shards: 16}), clock.Clock)
				cfg := *h.Settings.Load()
				cfg.LatencyMillis = 10
				h.Settings.Store(&cfg)
				h.Decider = &majority{h.Decider.(*decider.Local), clock, c.before, c.after}
				caller := Caller{User: h.Users.Default(), Address: "127.0.0.1:1", Timeout: time.Hour}
				if _, err := h.Do(context.Background(), caller, frames(commands...)); err != nil {
					t.Fatal(err)
				}
				slow, events := h.SlowLog.SlowCommands(-1), h.Latency.LatencyHistory(latency.Command)
				switch {
				case c.micros == 0 && len(slow)+len(events) > 0:
					t.Errorf("%s: %q is in the slow log: %+v, %+v", c.name, commands, slow, events)
				case c.micros > 0 && (len(slow) == 0 || slow[0].Micros != c.micros || len(events) != 1 || events[0].Millis != c.micros/1000):
					t.Errorf("%s: of %q the slow log has %+v, %+v, want %d µs", c.name, commands, slow, events, c.micros)
				}
			})
		}
	}
}
