package cluster

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
)

// userAnd returns a request for a limit of one group and a shared limit.
func userAnd(group int, shared engine.Op, tokens int64) engine.Op {
	own := acquire(string(keyOf(group, faultGroups, 7)), 1000, tokens)
	shared.Tokens = tokens
	return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{own, shared}}
}

// Nodes that were started with different patterns warn once, with the patterns of each; no longer when all have the
// same.
func TestDifferentPatterns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		lines := s.listenToLog()
		s.names, s.groups = []string{"a", "b", "c"}, faultGroups
		defer s.stop()
		patterns := map[string][]string{"a": {"global:*", "all:*"}, "b": {"all:*", "global:*"}}
		for _, name := range s.names {
			s.shared = patterns[name]
			s.start(name)
		}
		s.awaitGroups()
		time.Sleep(time.Minute)
		const want = "all:*,global:* at a, b; none at c"
		if n := lines.Count("patterns=" + strconv.Quote(want)); n != 3 {
			t.Errorf("%d nodes have said so, once each, within a minute:\n%s", n, lines)
		}
		for name, n := range s.nodes {
			if got := n.Status().SharedPatterns; got != want {
				t.Errorf("%s shows %q", name, got)
			}
		}
		s.kill("c")
		s.shared = patterns["a"]
		s.start("c")
		s.awaitGroups()
		time.Sleep(5 * time.Second)
		for name, n := range s.nodes {
			if got := n.Status().SharedPatterns; got != "" {
				t.Errorf("%s still shows %q", name, got)
			}
		}
	})
}

// Requests of all groups share a limit at any node, one token at a time: nothing is exceeded, nothing denied too early,
// and unused tokens go back.
func TestSharedLimits(t *testing.T) {
	for _, limit := range []limits.Limit{
		acquire("", 100, 0).Limit,
		acquire("", 3, 0).Limit,
		{Algorithm: limits.FixedWindow, Capacity: 50, Rate: limits.Rate{Period: int64(time.Hour)}},
		{Algorithm: limits.GCRA, Capacity: 20, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}},
		{Algorithm: limits.LeakyBucket, Capacity: 20, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
			defer s.stop()
			global := engine.Op{Verb: engine.Acquire, Key: []byte("global:x"), Limit: limit}
			granted := map[int]int64{}
			sum, denied := int64(0), 0
			for i := 0; denied < 8; i++ {
				group, node := 1+i%faultGroups, s.nodes[s.names[i%3]]
				res := do(node, userAnd(group, global, 1))[0]
				switch {
				case res.Status != engine.OK:
					t.Fatalf("%s: request %d: status %d", limit.Algorithm, i, res.Status)
				case res.Allowed:
					granted[group]++
					sum++
				default:
					if denied++; res.Binding != 1 || res.Wait <= 0 || res.Wait > int64(time.Hour) {
						t.Errorf("%s: denied by %d, to wait %v", limit.Algorithm, res.Binding, time.Duration(res.Wait))
					}
				}
				if denied > 0 {
					time.Sleep(time.Second)
				}
			}
			if sum != limit.Capacity {
				t.Errorf("%s: %d granted of %d", limit.Algorithm, sum, limit.Capacity)
			}
			time.Sleep(3 * time.Second)
			if home := do(s.leader(), engine.Op{Verb: engine.Look, Key: global.Key})[0]; home.Lent != 0 || home.Remaining != 0 {
				t.Errorf("%s: home has %d left and %d lent", limit.Algorithm, home.Remaining, home.Lent)
			}
			for group := 1; group <= faultGroups; group++ {
				if own := do(s.leader(), engine.Op{Verb: engine.Look, Key: keyOf(group, faultGroups, 7)})[0]; granted[group] > 0 &&
					own.Remaining != 1000-granted[group] {
					t.Errorf("%s: the user in group %d has %d left of 1000, and was granted %d", limit.Algorithm, group, own.Remaining,
						granted[group])
				}
			}
		})
	}
}

// A policy's shared limit is asked wherever the caller's key is, even by a node that does not know the policy yet.
// Other algorithms are refused.
func TestPolicyWithSharedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		policy := engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{acquire("user:{}", 100, 0),
			acquire("global:x", 20, 0)}}
		do(s.nodes["a"], policy)
		granted := 0
		for i := range 40 {
			res := do(s.nodes[s.names[i%3]], engine.Op{Verb: engine.Check, Key: []byte("p"), Who: []byte(fmt.Sprint(i)),
				Tokens: 1, MaxKey: 64})[0]
			if res.Status != engine.OK {
				t.Fatalf("check %d: status %d", i, res.Status)
			}
			if res.Allowed {
				granted++
			}
		}
		if granted != 20 {
			t.Errorf("%d checks granted of 20", granted)
		}
		for i, limit := range []limits.Limit{
			{Algorithm: limits.SlidingWindow, Capacity: 5, Rate: limits.Rate{Period: int64(time.Minute)}},
			{Algorithm: limits.FixedWindow, Capacity: 5, Rate: limits.Rate{Period: int64(time.Minute)}, History: 3},
		} {
			refused := 0
			for group := 1; group <= faultGroups; group++ {
				res := do(s.leader(), userAnd(group, engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "global:y", i),
					Limit: limit}, 1))[0]
				if res.Status == engine.NotShared {
					refused++
				} else if !res.Allowed {
					t.Errorf("status %d", res.Status)
				}
			}
			if refused != faultGroups-1 { // in one group the key is its own
				t.Errorf("%s: refused in %d groups", limit.Algorithm, refused)
			}
		}
	})
}

// A changed limit applies in every group.
func TestSharedLimitIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		sum := int64(0)
		ask := func(capacity int64) {
			for i := range 100 {
				if res := do(s.nodes[s.names[i%3]], userAnd(1+i%faultGroups, acquire("global:x", capacity, 0), 1))[0]; res.Allowed {
					sum++
				} else if res.Status != engine.OK {
					t.Fatal(res.Status)
				}
				if i > 50 {
					time.Sleep(100 * time.Millisecond)
				}
			}
		}
		ask(20)
		if sum != 20 {
			t.Errorf("%d granted of 20", sum)
		}
		if ask(50); sum > 50 || sum < 50-1 { // a token brings the limit into force
			t.Errorf("%d granted of 50", sum)
		}
		before := sum
		if ask(10); sum != before {
			t.Errorf("%d granted of 10 after %d", sum-before, before)
		}
	})
}

// Tokens that are lent to a group outlive a reset at home: they count in what the limit grants after it.
func TestSharedLimitIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		const capacity = 1000
		global := acquire("global:x", capacity, 0)
		away := 1 // a group that is not the key's own
		for away == slot.GroupOf(slot.Of(global.Key), faultGroups) {
			away++
		}
		lent := int64(0)
		for i := 0; i < 400 && lent <= 10; i++ {
			if res := do(s.nodes["a"], userAnd(away, global, 1))[0]; !res.Allowed {
				t.Fatalf("request %d: %+v", i, res)
			}
			time.Sleep(10 * time.Millisecond)
			lent = do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: global.Key})[0].Lent
		}
		if lent <= 10 {
			t.Fatalf("%d tokens are lent", lent)
		}
		do(s.nodes["a"], engine.Op{Verb: engine.Delete, Key: global.Key})
		granted := 0
		for i := range 2 * capacity {
			if do(s.nodes["a"], userAnd(1+i%faultGroups, global, 1))[0].Allowed {
				granted++
			}
		}
		if granted > capacity {
			t.Errorf("%d granted of %d after a reset with %d lent", granted, capacity, lent)
		}
	})
}

// Tokens that groups have when the cluster is started without patterns go back as usual.
func TestSharedPatternsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		const capacity = 1000
		global := acquire("global:x", capacity, 0)
		away := 1 + slot.GroupOf(slot.Of(global.Key), faultGroups)%faultGroups
		look := func() engine.Result { return do(s.leader(), engine.Op{Verb: engine.Look, Key: global.Key})[0] }
		taken := int64(0)
		for ; look().Lent <= 10; taken++ {
			if taken == capacity || !do(s.leader(), userAnd(away, global, 1))[0].Allowed {
				t.Fatalf("%d tokens are lent after %d grants", look().Lent, taken)
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, name := range s.names {
			s.kill(name)
		}
		s.shared = nil
		for _, name := range s.names {
			s.start(name)
		}
		s.awaitGroups()
		time.Sleep(10 * time.Second)
		if home := look(); home.Lent != 0 || home.Remaining != capacity-taken {
			t.Errorf("%d left of %d, %d taken and %d lent", home.Remaining, capacity, taken, home.Lent)
		}
	})
}

// A denial states the time until its own tokens are there, from the home and the purse together.
func TestWaitForSharedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		global := engine.Op{Verb: engine.Acquire, Key: []byte("global:x"), Limit: acquire("", 10, 0).Limit}
		global.Limit.Rate = limits.Rate{Tokens: 1, Period: int64(time.Second)}
		away := 1
		for slot.GroupOf(slot.Of(global.Key), faultGroups) == away {
			away++
		}
		took := time.Now()
		take := func(tokens int64) engine.Result { return do(s.leader(), userAnd(away, global, tokens))[0] }
		if res := take(7); !res.Allowed {
			t.Fatalf("%+v", res)
		}
		res := take(5)
		for _, asked := range []struct {
			tokens, missing int64
			res             engine.Result
		}{{5, 2, res}, {10, 7, take(10)}} {
			late := time.Since(took) // in which home refills
			if wait := time.Duration(asked.res.Wait); asked.res.Allowed || wait > time.Duration(asked.missing)*time.Second ||
				wait < time.Duration(asked.missing)*time.Second-late {
				t.Errorf("%d tokens, of which %d are missing: wait for %v, asked %v after the others", asked.tokens, asked.missing,
					wait, late)
			}
		}
		time.Sleep(time.Duration(res.Wait))
		if res := take(5); !res.Allowed {
			t.Errorf("it is denied after its wait, for another %v", time.Duration(res.Wait))
		}
	})
}

// A late Lend, whose purse has gone, leaves tokens with a group that does not know of them: they count as spent.
func TestLoanWithoutPurse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulateShared(t, []string{"global:*"}, faultGroups, "a", "b", "c")
		defer s.stop()
		global := acquire("global:x", 20, 5)
		away := 1 + slot.GroupOf(slot.Of(global.Key), faultGroups)%faultGroups
		lend := engine.Op{Verb: engine.Lend, Key: global.Key, Limit: global.Limit, Tokens: 5, Options: engine.Whole,
			Who: fmt.Append(nil, "group/", away), Loan: &engine.Loan{Number: 7}}
		if res := do(s.leader(), lend)[0]; res.Granted != 5 {
			t.Fatalf("%+v", res)
		}
		time.Sleep(30 * time.Second)
		if home := do(s.leader(), engine.Op{Verb: engine.Look, Key: global.Key})[0]; home.Lent != 0 || home.Remaining != 15 {
			t.Errorf("home has %d left and %d lent", home.Remaining, home.Lent)
		}
	})
}
