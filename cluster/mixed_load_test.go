package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// mixedLoad is a load of requests for a limit of their user, who asks seldom, and a limit of all users.
type mixedLoad struct {
	global    limits.Limit
	perSecond int
	at        string // leader, followers, or all nodes
	byPolicy  bool   // RL.CHECK rather than RL.ALL
}

// mixedOutcome is what became of a load.
type mixedOutcome struct {
	asked, granted, failed atomic.Int64
	ideal                  int64  // the grants of one exact limiter that is asked at the same times
	logged                 int64  // operations in the log for 1,000 grants
	terms                  uint64 // terms that began under the load
}

const (
	mixedFor   = 3 * time.Second // in which a slow bucket at 90 % is used up to a tenth
	mixedWarm  = time.Second     // before operations in the log are counted
	mixedUsers = 20_000
)

var userLimit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: 40, Rate: limits.Rate{Tokens: 10,
	Period: int64(time.Second)}}

func mixedOp(user int, global limits.Limit, tokens int64) engine.Op {
	return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{
		{Key: fmt.Append(nil, "user:", user), Limit: userLimit, Tokens: tokens}, {Key: []byte("all"), Limit: global,
			Tokens: tokens},
	}}
}

// nodes returns the nodes that the load is put on.
func (l *mixedLoad) nodes(leader *Node, others []*Node) []*Node {
	switch l.at {
	case "leader":
		return []*Node{leader}
	case "followers":
		return others
	}
	return append(others, leader)
}

// run puts the load on a cluster. A sync takes some time, a message a fifth of it.
func (l *mixedLoad) run(t *testing.T, syncTime time.Duration) (out *mixedOutcome) {
	t.Helper()
	out = &mixedOutcome{}
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		s.sharing.Store(true)
		time.Sleep(15 * time.Second) // earlier leaders' tokens are back
		for from, disk := range s.disks {
			disk.SetDelay(syncTime)
			for _, to := range s.names {
				if to != from {
					s.net.SetDelay(from, to, syncTime/5)
				}
			}
		}
		if l.byPolicy {
			do(leader, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"),
				Parts: []engine.Op{{Key: []byte("user:{}"), Limit: userLimit}, {Key: []byte("all"), Limit: l.global}}})
			time.Sleep(time.Second)
		}
		ideal := store.New(store.Config{})
		defer ideal.Close()
		term := leader.Group().Status().Term
		var idealMu sync.Mutex
		var clients sync.WaitGroup
		var open atomic.Int64
		nodes := l.nodes(leader, others)
		pause, began := time.Second*time.Duration(len(nodes))/time.Duration(l.perSecond), time.Now()
		for i, n := range nodes {
			clients.Go(func() {
				r := rand.New(rand.NewPCG(*simSeed, uint64(i)))
				var exact [1]engine.Result
				for time.Since(began) < mixedFor {
					user := r.IntN(mixedUsers)
					op := mixedOp(user, l.global, 1)
					idealMu.Lock()
					if ideal.Apply(time.Now().UnixNano(), []engine.Op{op}, exact[:]); exact[0].Allowed {
						out.ideal++
					}
					idealMu.Unlock()
					if l.byPolicy {
						op = engine.Op{Verb: engine.Check, Key: []byte("p"), Who: fmt.Append(nil, user), Tokens: 1}
					}
					out.ask(n, op, &open)
					time.Sleep(pause)
				}
			})
		}
		time.Sleep(mixedWarm)
		warm, before := out.granted.Load(), leader.Group().Status().Decisions
		clients.Wait()
		counted := out.granted.Load() - warm
		out.logged = (leader.Group().Status().Decisions - before) * 1000 / max(1, counted)
		out.terms = leader.Group().Status().Term - term
		time.Sleep(2 * time.Second)
		if open.Load() != 0 {
			t.Errorf("%d requests have no answer", open.Load())
		}
	})
	return out
}

// ask sends a request to a node, and counts the answer when it comes.
func (out *mixedOutcome) ask(n *Node, op engine.Op, open *atomic.Int64) {
	b := &engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1)}
	open.Add(1)
	out.asked.Add(1)
	b.Done = func() {
		switch res := &b.Results[0]; {
		case res.Status != engine.OK:
			out.failed.Add(1)
		case res.Allowed:
			out.granted.Add(1)
		}
		open.Add(-1)
	}
	if decide(n, b) {
		b.Done()
	}
}

// Bounds on the work of the log for the most common policy: a limit of each user and one of all users, of which the
// nodes hold tokens, while the leader has its allowance of the users' limits.
func TestLogOperationsOfAHotKeyAndItsUsers(t *testing.T) {
	bucket := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 3000, Rate: limits.Rate{Tokens: 3000,
		Period: int64(time.Second)}}
	// no allowance of it
	slow := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 6000, Rate: limits.Rate{Tokens: 1000,
		Period: int64(time.Second)}}
	window := func(capacity int64) limits.Limit {
		return limits.Limit{Algorithm: limits.FixedWindow, Capacity: capacity, Rate: limits.Rate{Period: int64(time.Second)}}
	}
	for name, c := range map[string]struct {
		mixedLoad
		mostLogged   int64 // operations for 1,000 grants
		leastGranted float64
	}{
		"bucket, 90 %, leader":            {mixedLoad{bucket, 2700, "leader", false}, 5, 1},
		"slow bucket, 90 %, leader":       {mixedLoad{slow, 2700, "leader", false}, 5, 1},
		"slow bucket, 90 %, followers":    {mixedLoad{slow, 2700, "followers", false}, 5, 1},
		"window, 90 %, leader":            {mixedLoad{window(10_000), 9000, "leader", false}, 5, 1},
		"window, 90 %, followers":         {mixedLoad{window(10_000), 9000, "followers", false}, 5, 1},
		"window, 90 %, all, by a policy":  {mixedLoad{window(10_000), 9000, "all", true}, 5, 1},
		"bucket, 300 %, leader":           {mixedLoad{bucket, 9000, "leader", false}, 3100, 0.995},
		"bucket, 300 %, followers":        {mixedLoad{bucket, 9000, "followers", false}, 3100, 0.995},
		"window, 300 %, all, by a policy": {mixedLoad{window(3000), 9000, "all", true}, 400, 0.995},
	} {
		t.Run(name, func(t *testing.T) {
			out := c.run(t, 750*time.Microsecond)
			share := float64(out.granted.Load()) / float64(out.ideal)
			t.Logf("%d asked, %d granted, %.2f %% of one exact limiter; %d operations in the log for 1,000 grants",
				out.asked.Load(), out.granted.Load(), 100*share, out.logged)
			if out.failed.Load() > 0 || out.logged > c.mostLogged || share < c.leastGranted || share > 1.01 {
				t.Errorf("%d failed, bounds are %d operations and %.1f %%; %d terms began under the load", out.failed.Load(),
					c.mostLogged, 100*c.leastGranted, out.terms)
			}
		})
	}
}
