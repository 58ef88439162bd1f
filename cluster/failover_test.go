package cluster

import (
	"cmp"
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

var simFailovers = flag.Int("sim-failovers", testsize.Pick(5, 30),
	"leaders that TestFailoverTime loses in each way; figures take 1000")

// plenty takes a token of a limit that is never reached. Every answer has been through the log.
var plenty = engine.Op{Verb: engine.Acquire, Key: []byte("k"), Tokens: 1,
	Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 1_000_000,
		Period: int64(time.Second)}}}

// silence is the longest time between two answers that clients of one node had.
type silence struct {
	last, longest atomic.Int64 // nanoseconds since the Unix epoch, and nanoseconds
	failed        atomic.Int64 // requests that were not decided, as far as is known
}

func (s *silence) begin(now time.Time) {
	s.last.Store(now.UnixNano())
	s.longest.Store(0)
}

func (s *silence) note(res engine.Result) {
	if res.Status != engine.OK {
		s.failed.Add(1)
		return
	}
	now := time.Now().UnixNano()
	if gap := now - s.last.Swap(now); gap > s.longest.Load() {
		s.longest.Store(gap)
	}
}

// loseLeaders lets a cluster of three lose its leader again and again, in simulated time, under load, with half a
// millisecond on every link and two for a write to disk. It returns how long the clients of the other nodes had no
// answers, and how many of their requests failed.
func loseLeaders(t *testing.T, times int,
	lose func(s *simulated, leader string) (mend func())) (silences []time.Duration, failed int64) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		for _, from := range s.names {
			for _, to := range s.names {
				s.net.SetDelay(from, to, time.Millisecond/2)
			}
			s.disks[from].SetDelay(2 * time.Millisecond)
		}
		for range times {
			leader := s.leader().opt.Node
			time.Sleep(3 * time.Second) // all are members, and follow
			var stopped atomic.Bool
			var clients sync.WaitGroup
			watched := map[string]*silence{}
			for name, n := range s.nodes {
				if name == leader {
					continue
				}
				w := &silence{}
				w.begin(time.Now())
				watched[name] = w
				for range 4 {
					clients.Go(func() {
						for !stopped.Load() {
							w.note(do(n, plenty)[0])
							time.Sleep(time.Millisecond)
						}
					})
				}
			}
			time.Sleep(50*time.Millisecond + time.Duration(len(silences)*7919%60_000)*time.Microsecond)
			for _, w := range watched {
				w.begin(time.Now())
			}
			mend := lose(s, leader)
			time.Sleep(5 * time.Second)
			worst := time.Duration(0)
			for name, w := range watched {
				if w.last.Load() < time.Now().Add(-time.Second).UnixNano() {
					t.Errorf("%s does not decide after 5 s", name)
				}
				worst = max(worst, time.Duration(w.longest.Load()))
				failed += w.failed.Load()
			}
			silences = append(silences, worst)
			stopped.Store(true)
			clients.Wait()
			mend()
		}
	})
	slices.SortFunc(silences, cmp.Compare)
	return silences, failed
}

// In simulated time, at default timings, clients of the other nodes are without answers for little more than a
// heartbeat timeout when the leader dies, for another half of one when it leaves their requests unanswered, and hardly
// at all when it shuts down gracefully.
func TestFailoverTime(t *testing.T) {
	for _, way := range []struct {
		name string
		lose func(s *simulated, leader string) func()
		most time.Duration // at p99, or p90 of few
	}{
		{"killed", func(s *simulated, leader string) func() {
			s.kill(leader)
			return func() { s.start(leader) }
		}, 600 * time.Millisecond},
		{"cut off", func(s *simulated, leader string) func() {
			w := world{simulated: s}
			w.cut(leader, true, true, true)
			return func() { w.cut(leader, true, true, false) }
		}, 800 * time.Millisecond},
		{"told to end", func(s *simulated, leader string) func() {
			_ = s.nodes[leader].Group().HandOver(s.t.Context())
			s.kill(leader)
			return func() { s.start(leader) }
		}, 50 * time.Millisecond},
	} {
		silences, failed := loseLeaders(t, *simFailovers, way.lose)
		rank := func(share float64) time.Duration { return silences[int(share*float64(len(silences)-1))] }
		t.Logf("the leader %s %d times: clients of the others are without answers for %v at the median, %v at p90, %v at p99, %v at most; %d requests failed",
			way.name, len(silences), rank(0.5), rank(0.9), rank(0.99), rank(1), failed)
		if way.name == "told to end" && failed > 0 {
			t.Errorf("the leader told to end: %d requests failed", failed)
		}
		share := 0.99
		if len(silences) < 300 {
			share = 0.9 // one of a hundred elections is repeated, and two of thirty may be
		}
		if rank(share) >= way.most {
			t.Errorf("the leader %s: %v at p%.0f, which is to be below %v", way.name, rank(share), 100*share, way.most)
		}
	}
}

// A leader sends no heartbeats except with the renewals of its lease. When it follows again, it has the timeouts of a
// follower.
func TestTimeoutsOfALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		for range 3 {
			leader := s.leader()
			for name, n := range s.nodes {
				want := n.opt.Heartbeat
				if n == leader {
					want = 10 * n.opt.Heartbeat / raftnode.BeatsOfTimeout // Raft sends heartbeats after a tenth of that, at least
				}
				if c := n.Group().Parts().Raft.ReloadableConfig(); c.HeartbeatTimeout != want || c.ElectionTimeout != want {
					t.Errorf("%s, led by %s, has %v and %v, want %v", name, leader.opt.Node, c.HeartbeatTimeout, c.ElectionTimeout,
						want)
				}
			}
			if err := leader.HandOver(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
	})
}
