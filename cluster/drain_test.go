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
	"github.com/stintdb/stint/internal/testsize"
)

// drain lets clients at every node ask for tokens of a limit that does not refill, until nothing has been granted for a
// while, and returns the tokens granted.
func (s *simulated) drain(seed uint64, ask func(r *rand.Rand, node *Node, tokens int64) engine.Result) int64 {
	const clients, silence = 4, 2500 * time.Millisecond
	var granted, last atomic.Int64
	last.Store(time.Now().UnixNano())
	var asking sync.WaitGroup
	for i := range clients {
		asking.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			sizes := []int64{1, 2, 5, 9} // a denial removes the largest size
			for time.Now().UnixNano()-last.Load() < int64(silence) {
				tokens := sizes[r.IntN(len(sizes))]
				res := ask(r, s.nodes[s.names[i%len(s.names)]], tokens)
				switch {
				case res.Status != engine.OK:
					s.t.Errorf("status %d", res.Status)
					return
				case res.Allowed:
					granted.Add(tokens)
					last.Store(time.Now().UnixNano())
				default:
					sizes = sizes[:max(1, len(sizes)-1)]
					time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
				}
			}
		})
	}
	asking.Wait()
	return granted.Load()
}

// drainShared is drain for a shared limit, beside users' limits in any group.
func (s *simulated) drainShared(seed uint64, shared engine.Op) int64 {
	const users = 300
	return s.drain(seed, func(r *rand.Rand, node *Node, tokens int64) engine.Result {
		own, common := acquire(fmt.Sprintf("user:%d", r.IntN(users)), 1_000_000, tokens), shared
		own.Limit.Rate = limits.Rate{Tokens: 1_000_000, Period: int64(time.Second)}
		common.Tokens = tokens
		return do(node, engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{own, common}})[0]
	})
}

// A limit that does not refill grants all the tokens that it has, however many nodes and groups ask for the last ones
// at once, even if nodes hold tokens, and after leaders have moved.
func TestSharedLimitIsDrained(t *testing.T) {
	for at, of := range []struct {
		groups, replicas int
		names            []string
	}{
		{0, 0, []string{"a", "b", "c"}},
		{3, 0, []string{"a", "b", "c"}},
		{12, 0, []string{"a", "b", "c"}},
		{12, 3, []string{"a", "b", "c", "d", "e"}},
	} {
		for _, ahead := range []time.Duration{0, 200 * time.Millisecond} {
			t.Run(fmt.Sprintf("%d groups, %d replicas, %v ahead", of.groups, of.replicas, ahead), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					seed := testsize.Seed()
					r := rand.New(rand.NewPCG(seed, 1))
					s := simulateWith(t, func(s *simulated) {
						s.groups, s.replicas, s.shared, s.ahead = of.groups, of.replicas, []string{"global:*"}, ahead
						s.sharing.Store(true)
					}, of.names...)
					defer s.stop()
					s.awaitGroups()
					for _, name := range s.names {
						s.disks[name].SetDelay(time.Duration(200+r.IntN(2000)) * time.Microsecond)
						for _, other := range s.names {
							s.net.SetDelay(name, other, time.Duration(r.IntN(1500))*time.Microsecond)
						}
					}
					for i := range testsize.Pick(1, 10*len(drained)) {
						s.moveLeaders(r)
						limit := drained[(at+i)%len(drained)]
						shared := engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "global:", i), Limit: limit}
						if got := s.drainShared(seed+uint64(i), shared); got != limit.Capacity {
							home := do(s.leader(), engine.Op{Verb: engine.Look, Key: shared.Key})[0]
							t.Errorf("%s: %d granted of %d; home has %d left and %d lent", limit.Algorithm, got, limit.Capacity,
								home.Remaining, home.Lent)
						}
					}
				})
			})
		}
	}
}

// moveLeaders lets the leaders of some groups hand over to others.
func (s *simulated) moveLeaders(r *rand.Rand) {
	for number := range s.groups + 1 {
		if r.IntN(2) == 0 {
			if err := s.leaderOf(uint32(number)).groupOf(uint32(number)).Transfer(s.t.Context(), ""); err != nil {
				s.t.Error(err)
			}
		}
	}
}

var drained = []limits.Limit{
	{Algorithm: limits.TokenBucket, Capacity: 1500, Rate: limits.Rate{Tokens: 1, Period: int64(3 * time.Hour)}},
	{Algorithm: limits.FixedWindow, Capacity: 1500, Rate: limits.Rate{Period: int64(24 * time.Hour)}},
	{Algorithm: limits.GCRA, Capacity: 2500, Rate: limits.Rate{Tokens: 1, Period: int64(24 * time.Hour)}},
	{Algorithm: limits.LeakyBucket, Capacity: 700, Rate: limits.Rate{Tokens: 1, Period: int64(24 * time.Hour)}},
}

// A limit whose home is another server grants all the tokens that it has when the nodes of a region and clients at home
// ask for the last ones at once.
func TestRegionDrainsALimit(t *testing.T) {
	for _, groups := range []int{0, 3, 12} {
		t.Run(fmt.Sprint(groups), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seed := testsize.Seed()
				s := simulateGroups(t, groups, "a", "b", "c")
				r := newRegion(&world{simulated: s}, func(_ []string, carryOut func() string) string { return carryOut() })
				defer r.close()
				for i, name := range s.names {
					s.net.SetDelay(name, "home", time.Duration(1+i)*time.Millisecond)
					s.net.SetDelay("home", name, time.Duration(1+i)*time.Millisecond)
				}
				for i, key := range homeKeys[:1] {
					got := s.drain(seed+uint64(i), func(random *rand.Rand, node *Node, tokens int64) engine.Result {
						op, results, done := key.Clone(), make([]engine.Result, 1), make(chan struct{})
						if op.Tokens = tokens; random.IntN(8) == 0 {
							return r.home.do(op)
						}
						if !r.upstreamOf(node).Decide(&engine.Batch{Ops: []engine.Op{op}, Results: results, Done: func() {
							close(done)
						}}) {
							<-done
						}
						return results[0]
					})
					if got != key.Limit.Capacity {
						home := r.home.do(engine.Op{Verb: engine.Look, Key: key.Key})
						t.Errorf("%d granted of %d; home has %d left and %d lent", got, key.Limit.Capacity, home.Remaining, home.Lent)
					}
				}
			})
		})
	}
}

// The home has nothing to lend to a region, which spends a token and has to state the lower number. First the region
// makes the home end the operation, because the same operation from another node, which may be on its way, could be
// lent tokens that nobody knows of.
func TestRegionEndsAnOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		r := newRegion(&world{simulated: simulateGroups(t, 2, "a", "b", "c")},
			func(words []string, carryOut func() string) string {
				if words[0] == "RL.RETURN" && len(words) > 6 {
					ended.Add(1)
				}
				return carryOut()
			})
		defer r.close()
		granted := int64(0)
		ask := func(tokens int64) {
			op, results, done := homeKeys[0].Clone(), make([]engine.Result, 1), make(chan struct{})
			op.Tokens = tokens
			if !r.upstreamOf(r.nodes["a"]).Decide(&engine.Batch{Ops: []engine.Op{op}, Results: results, Done: func() {
				close(done)
			}}) {
				<-done
			}
			granted += results[0].Granted
		}
		inPurse := func() int64 {
			return do(r.nodes["a"], engine.Op{Verb: engine.Look, Key: homeKeys[0].Key})[0].Remaining
		}
		time.Sleep(time.Second)
		for range 300 { // so that the key is in demand
			ask(1)
			time.Sleep(2 * time.Millisecond)
		}
		rest := homeKeys[0].Clone()
		rest.Tokens, rest.Options = rest.Limit.Capacity, engine.UpTo
		granted += r.home.do(rest).Granted
		for inPurse() > 3 {
			ask(1)
		}
		// more than there is, so an operation with nothing to state stays prepared; then a token is spent beside it
		for _, tokens := range []int64{5, 5, 5, 1, 5, 5, 5, 1} {
			time.Sleep(300 * time.Millisecond) // until home is asked for loans again
			ask(tokens)
		}
		if ended.Load() == 0 {
			t.Error("the region has given an operation up that home may carry out later")
		}
		if err := r.returned(); err != nil {
			t.Error(err)
		}
		if granted += r.home.do(rest).Granted; granted != rest.Limit.Capacity {
			t.Errorf("%d tokens were granted of %d", granted, rest.Limit.Capacity)
		}
	})
}
