package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testlog"
)

// Leadership goes from node to node, whose clocks are an hour ahead and an hour behind: no more is granted than one
// limiter would have granted in the elapsed real time.
func TestLeadersAnHourAheadAndBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		began, granted := time.Now(), int64(0)
		op := acquire("k", 10, 1)
		op.Limit.Rate.Tokens = 3600 // one a second
		for round := range 6 {
			leader := s.leader()
			for _, name := range s.names {
				s.setSkew(name, time.Duration(1-2*(round%2))*time.Hour)
			}
			if err := leader.Group().Transfer(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			until := time.Now().Add(10 * time.Second)
			for time.Now().Before(until) {
				for _, res := range do(s.nodes["a"], op) {
					if res.Status == engine.OK {
						granted += res.Granted
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		most := 10 + int64(time.Since(began).Seconds()*(1+clock.SlewPartsPerMillion/1e6))
		if granted > most || granted < most-8 {
			t.Errorf("%d tokens granted in %v; one limiter grants %d", granted, time.Since(began), most)
		}
	})
}

func (s *simulated) setSkew(name string, skew time.Duration) {
	s.skewMu.Lock()
	defer s.skewMu.Unlock()
	s.skew[name] = skew
}

// The whole cluster is down for a minute. The minute counts: buckets refill. An hour by which one clock was set in that
// minute does not count.
func TestTimeWhileAllAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		op := acquire("k", 1000, 1000)
		op.Limit.Rate.Tokens = 3600
		if res := do(s.nodes["a"], op); !res[0].Allowed {
			t.Fatal("nothing granted")
		}
		time.Sleep(3 * time.Second) // the clock is kept for the next start
		before := time.Now()
		s.stop()
		time.Sleep(time.Minute)
		s.setSkew("b", time.Hour)
		s.reboot("b")
		for _, name := range s.names {
			s.start(name)
		}
		leader := s.leader()
		op.Tokens, op.Options = 1000, engine.UpTo
		granted := do(leader, op)[0].Granted
		passed := int64(time.Since(before).Seconds()) + 3
		if granted > passed+1 || granted < 60 {
			t.Errorf("%d tokens after %d seconds at one a second", granted, passed)
		}
	})
}

// A node whose clock is an hour off leads for a minute, follows for a minute, and leads again. The cluster's time makes
// no leap: no node runs ahead while it follows, and a leader that is pulled back takes the others along.
func TestNoLeapBetweenLeaders(t *testing.T) {
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, "a", "b", "c")
				defer s.stop()
				first := s.leader()
				s.setSkew(first.opt.Node, skew)
				for range 3 {
					time.Sleep(time.Minute)
					leader, to := s.leader(), "" // any other
					if leader != first {
						to = first.opt.Node
					}
					shown, began := leader.Group().Now(), time.Now()
					if err := leader.Group().Transfer(t.Context(), to); err != nil {
						t.Fatal(err)
					}
					next := s.leader()
					passed := time.Since(began)
					if leap := time.Duration(next.Group().Now()-shown) - passed; max(leap, -leap) > time.Millisecond {
						t.Errorf("from %s to %s time leapt by %v", leader.opt.Node, next.opt.Node, leap)
					}
				}
			})
		})
	}
}

// What a leader answered from its state is not in the log. The next leader, which knows the time from late messages,
// still answers with no earlier time. When the first leader leads again, time moves ahead by no more than the messages
// were late.
func TestLeaderThatKnowsTheTimeLate(t *testing.T) {
	const late = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		delay := func(d time.Duration) {
			for _, from := range s.names {
				for _, to := range s.names {
					s.net.SetDelay(from, to, d)
				}
			}
		}
		delay(late)
		first := s.leader()
		time.Sleep(time.Second)
		delay(0)
		for _, to := range []string{"", first.opt.Node} {
			leader := s.leader()
			shown, began := leader.Group().Now(), time.Now()
			if err := leader.Group().Transfer(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			next := s.leader()
			if next == leader || next.Group().Now() < shown {
				t.Errorf("%s shows a time %v before that of %s", next.opt.Node, time.Duration(shown-next.Group().Now()),
					leader.opt.Node)
			}
			if leap := time.Duration(next.Group().Now()-shown) - time.Since(began); leap > late {
				t.Errorf("from %s to %s time leapt by %v", leader.opt.Node, next.opt.Node, leap)
			} else {
				t.Logf("from %s to %s time moved ahead by %v", leader.opt.Node, next.opt.Node, leap)
			}
			time.Sleep(200 * time.Millisecond) // until it hears from the others
		}
	})
}

// The machines of all nodes are suspended for a night, and their monotonic clocks with them: the night counts. A wall
// clock that is set does not.
func TestTimeGoesOnWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		time.Sleep(3 * time.Second)
		began, at := time.Now(), s.leader().Group().Now()
		const night = 8 * time.Hour
		s.suspended.Store(int64(night))
		for _, name := range s.names {
			s.setSkew(name, 30*time.Hour)
		}
		time.Sleep(3 * time.Second)
		passed := time.Since(began) + night
		for _, name := range s.names {
			if off := time.Duration(s.nodes[name].Group().Now()-at) - passed; max(off, -off) > time.Second {
				t.Errorf("%s: after %v the time is off by %v", name, passed, off)
			}
		}
	})
}

// The time that a node saved was ahead by a year: it warns, and reports by how much.
func TestSavedTimeOfTheFuture(t *testing.T) {
	const year = 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a")
		defer s.stop()
		s.leader()
		s.kill("a")
		saved := &s.disks["a"].clock
		saved.Wall, saved.Boot, saved.Up = time.Now().UnixNano(), "another", 0
		saved.Cluster = time.Now().Add(year).UnixNano()
		logs := &testlog.Log{}
		s.log = logs.Logger()
		s.start("a")
		s.leader()
		time.Sleep(3 * time.Second)
		if off := s.nodes["a"].Group().Status().ClockAhead - year; max(off, -off) > time.Minute {
			t.Errorf("it reports %v more than a year", off)
		}
		if n := logs.Count("the cluster's time is ahead of this machine's clock"); n != 1 {
			t.Errorf("it warned %d times", n)
		}
	})
}

// A node reports how far the cluster's time is ahead of its own clock.
func TestClockAheadIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		time.Sleep(3 * time.Second)
		s.setSkew("b", -time.Hour)
		time.Sleep(3 * time.Second)
		for name, want := range map[string]time.Duration{"a": 0, "b": time.Hour, "c": 0} {
			if off := s.nodes[name].Group().Status().ClockAhead - want; max(off, -off) > time.Second {
				t.Errorf("%s is off by %v", name, off)
			}
		}
	})
}
