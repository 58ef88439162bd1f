package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// quickLimits are full again within four seconds, so a leader has all of its allowance a second after it began.
var quickLimits = []limits.Limit{
	{Algorithm: limits.TokenBucket, Capacity: 160, Rate: limits.Rate{Tokens: 40, Period: int64(time.Second)}},
	{Algorithm: limits.TokenBucket, Capacity: 800, Rate: limits.Rate{Tokens: 200, Period: int64(time.Second)}},
	{Algorithm: limits.GCRA, Capacity: 40, Rate: limits.Rate{Tokens: 10, Period: int64(time.Second)}},
	{Algorithm: limits.LeakyBucket, Capacity: 120, Rate: limits.Rate{Tokens: 30, Period: int64(time.Second)}},
	{Algorithm: limits.FixedWindow, Capacity: 80, Rate: limits.Rate{Period: int64(4 * time.Second)}},
}

// Leaders come and go while clients take tokens, one by one, together, and by a policy that changes. In no span of time
// is more granted than by one exact limiter, and the leader grants much of it in its memory.
func TestAllowanceIsNeverExceeded(t *testing.T) {
	inMemory, granted := exceedAllowance(t, func(w *world, _ uint64) {
		w.allowance = allowanceLedger{limits: quickLimits, ids: 6, slack: 600 * time.Millisecond}
	})
	if !t.Failed() && inMemory < granted/20 { // usually a seventh, in a hundred faults between an eighth and a sixth
		t.Error("too few were answered in memory to show anything")
	}
}

// exceedAllowance lets clients take tokens while leaders come and go. begin makes a cluster's ledger and starts further
// clients.
func exceedAllowance(t *testing.T, begin func(w *world, seed uint64)) (inMemory, granted int64) {
	const perCluster = 50
	count := *simFaults / 2 // the histories of package allowance find more for less
	for round := 0; round*perCluster < count && !t.Failed(); round++ {
		seed := *simSeed + uint64(round)
		synctest.Test(t, func(t *testing.T) {
			w := &world{simulated: simulate(t, "a", "b", "c"), r: rand.New(rand.NewPCG(seed, 0)), began: time.Now()}
			defer w.stop()
			w.sharing.Store(true)
			w.leader()
			begin(w, seed)
			for _, from := range w.names {
				for _, to := range w.names {
					w.net.SetDelay(from, to, 3*time.Millisecond) // so that operations are under way
				}
			}
			for i := range 8 {
				w.clients.Go(func() { w.allowanceClient(seed + uint64(i)) })
			}
			for range min(perCluster, count-round*perCluster) {
				name := []string{"kill", "stop in order", "partition", "pause", "transfer"}[w.r.IntN(5)]
				f := faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })]
				mend := f.strike(w)
				time.Sleep(time.Duration(400+w.r.IntN(600)) * time.Millisecond)
				mend()
				time.Sleep(time.Duration(w.r.IntN(4000)) * time.Millisecond)
				w.leader()
			}
			w.stopped.Store(true)
			w.clients.Wait()
			if err := w.allowance.check(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			for _, n := range w.everStarted {
				inMemory += n.Group().Status().DecidedByAllowance
			}
			granted += int64(w.allowance.count())
		})
	}
	t.Logf("seed %d: %d questions granted, %d operations answered in the leader's memory", *simSeed, granted, inMemory)
	return inMemory, granted
}

// allowanceClient asks for tokens of the ledger's limits until the world ends, now often, now seldom.
func (w *world) allowanceClient(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for round := 0; !w.stopped.Load(); round++ {
		w.mu.RLock()
		n := w.nodes[w.names[r.IntN(len(w.names))]]
		w.mu.RUnlock()
		if n == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if r.IntN(100) == 0 {
			do(n, w.allowance.policy(r))
		}
		w.allowance.ask(n, r)
		time.Sleep(time.Duration(r.IntN([]int{10, 100, 600, 300}[round/50%4])) * time.Millisecond)
	}
}

// ask asks a node one random question.
func (l *allowanceLedger) ask(n *Node, r *rand.Rand) {
	op, keys := l.randomOp(r)
	asked := time.Now()
	results := do(n, op)
	l.note(asked, keys, &results[0])
}

// count returns the number of grants.
func (l *allowanceLedger) count() (grants int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.grants {
		grants += len(all)
	}
	return grants
}

// policy returns an operation that sets a policy, which asks two of the limits for a caller.
func (l *allowanceLedger) policy(r *rand.Rand) engine.Op {
	policy := engine.Op{Verb: engine.SetPolicy, Key: []byte("shared")}
	first := r.IntN(len(l.limits))
	for _, i := range []int{first, (first + 1) % len(l.limits)} {
		policy.Parts = append(policy.Parts, engine.Op{Key: fmt.Append(nil, "share", i, ":{}"), Limit: l.limits[i]})
	}
	return policy
}

// While an operation on a key is on its way through the log, the leader takes nothing of that key in its memory.
func TestAllowanceWaitsForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.sharing.Store(true)
		leader := s.leader()
		time.Sleep(15 * time.Second) // earlier leaders' tokens are back
		limit := quickLimits[0]
		take := func(tokens int64) int64 {
			// It takes the tokens that are left: a leader without its lease for a moment decides the many later
			// operations first.
			return do(leader, engine.Op{Verb: engine.Acquire, Key: []byte("k"), Limit: limit, Tokens: tokens,
				Options: engine.UpTo})[0].Granted
		}
		granted := take(3)
		if leader.Group().Status().DecidedByAllowance != 1 {
			t.Fatal("the first tokens were not taken in memory")
		}
		for _, d := range s.disks {
			d.SetDelay(200 * time.Millisecond)
		}
		var mu sync.Mutex
		var asking sync.WaitGroup
		for i := range 40 {
			asking.Go(func() {
				tokens := int64(130)
				if i > 0 {
					time.Sleep(time.Millisecond)
					tokens = 1
				}
				n := take(tokens)
				mu.Lock()
				defer mu.Unlock()
				granted += n
			})
		}
		asking.Wait()
		if took := leader.Group().Status().DecidedByAllowance; took != 1 {
			t.Errorf("%d operations were answered in memory while one was on its way", took-1)
		}
		if granted < limit.Capacity || granted > limit.Capacity+limit.Rate.Tokens {
			t.Errorf("%d tokens granted of %d", granted, limit.Capacity)
		}
		for _, d := range s.disks {
			d.SetDelay(0) // with slow disks a leader is without its lease now and then
		}
		time.Sleep(10 * time.Second)
		if take(1) != 1 || leader.Group().Status().DecidedByAllowance != 2 {
			t.Error("a key whose limiter in the log is full again is not decided in memory")
		}
	})
}

// The answers of commands on a key do not depend on where its tokens are taken.
func TestCommandsOnKeysOfTheAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.sharing.Store(true)
		leader := s.leader()
		time.Sleep(15 * time.Second)
		limit := quickLimits[0]
		key := []byte("k")
		ask := func(op engine.Op) engine.Result {
			op.Key = key
			return do(leader, op)[0]
		}
		take := func(tokens int64, options engine.Option) engine.Result {
			return ask(engine.Op{Verb: engine.Acquire, Limit: limit, Tokens: tokens, Options: options})
		}
		if res := take(30, 0); !res.Allowed || res.Remaining != 130 || leader.Group().Status().DecidedByAllowance != 1 {
			t.Fatalf("%+v", res)
		}
		if res := take(131, engine.Peek); res.Allowed || res.Remaining != 130 {
			t.Errorf("a peek answers %+v", res)
		}
		if res := ask(engine.Op{Verb: engine.Look}); res.Remaining != 130 || res.Held != limit {
			t.Errorf("a look answers %+v", res)
		}
		if res := ask(engine.Op{Verb: engine.Refund, Tokens: 10}); res.Granted != 10 || res.Remaining != 140 {
			t.Errorf("a refund answers %+v", res)
		}
		if res := take(141, 0); res.Allowed || res.Remaining != 140 {
			t.Errorf("too much is answered with %+v", res)
		}
		if res := take(1, engine.Force); res.Remaining != 139 {
			t.Errorf("a request in the log does not see the tokens taken in memory: %+v", res)
		}
		if res := ask(engine.Op{Verb: engine.Delete}); res.Status != engine.OK {
			t.Errorf("a reset in the log answers %+v", res)
		}
		if res := take(1, 0); res.Remaining != 159 {
			t.Errorf("after the reset %+v", res)
		}
		if res := ask(engine.Op{Verb: engine.Delete}); res.Status != engine.OK {
			t.Errorf("a reset in memory answers %+v", res)
		}
		if res := take(1, 0); res.Remaining != 159 {
			t.Errorf("after the reset in memory %+v", res)
		}
		do(leader, engine.Op{Verb: engine.Flush})
		if res := take(1, 0); res.Remaining != 159 {
			t.Errorf("after a flush %+v", res)
		}
	})
}

// The log says that leaders may take tokens until all tokens are back, also those of an earlier leader.
func TestAllowanceIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.sharing.Store(true)
		first := s.leader()
		time.Sleep(30 * time.Second)
		s.sharing.Store(false)
		time.Sleep(limits.MaxAllowanceTime)
		_ = first.Group().HandOver(t.Context())
		time.Sleep(2 * limits.MaxAllowanceTime)
		leader := s.leader()
		if leader == first {
			t.Fatal("leadership was not handed over")
		}
		if term := leader.Group().Parts().Allowance.Term.Load(); !leader.Group().Cluster().Allowance || term == nil ||
			term.Earlier == 0 {
			t.Errorf("the next leader has forgotten that tokens may be taken: %+v", term)
		}
		time.Sleep(time.Second)
		if leader.Group().Cluster().Allowance || leader.Group().Parts().Allowance.Term.Load() != nil {
			t.Error("the allowance is still in use long after it was closed")
		}
	})
}
