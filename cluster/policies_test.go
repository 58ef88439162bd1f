package cluster

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// setOf is the operation that sets a policy to a capacity.
func setOf(policy string, capacity int64) engine.Op {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: int64(time.Second)}}
	return engine.Op{Verb: engine.SetPolicy, Key: []byte(policy), Parts: []engine.Op{{Key: []byte("user:{}"), Limit: limit}}}
}

// capacityOf is the capacity of a policy in a store, 0 if it is not there.
func capacityOf(s *store.Store, policy string) int64 {
	p, found := s.Policy(policy)
	if !found {
		return 0
	}
	return p.Parts[0].Limit.Capacity
}

// eachStore calls visit for the stores of all nodes and groups, when they have what was acknowledged.
func (s *simulated) eachStore(visit func(name string, st *store.Store)) {
	time.Sleep(time.Second)
	for name, n := range s.nodes {
		for number, st := range append([]*store.Store{n.opt.Store}, n.opt.KeyStores...) {
			visit(fmt.Sprintf("node %s, group %d", name, number), st)
		}
	}
}

// Two nodes that change the policies at the same moment make one change, if both expect the policies that they see: the
// other is refused, and nothing of it is done. In groups of keys, changes that expect nothing come in one order too.
func TestPoliciesOfTwoNodes(t *testing.T) {
	for _, groups := range []int{0, 4} {
		synctest.Test(t, func(t *testing.T) {
			s := simulateGroups(t, groups, "a", "b", "c")
			defer s.stop()
			for round := range int64(12) {
				expects := round%2 == 0
				var answers [2][]engine.Result
				both := sync.WaitGroup{}
				for i, name := range []string{"a", "b"} {
					n, capacity := s.nodes[name], 10*(round+1)+int64(i)
					ops := []engine.Op{setOf("p", capacity), setOf("q", capacity)}
					if expects {
						ops = append([]engine.Op{engine.ExpectPolicies(n.opt.Store.PoliciesSum())}, ops...)
					}
					both.Go(func() { answers[i] = doBatch(n, &engine.Batch{Ops: ops, Atomic: expects}) })
				}
				both.Wait()
				made := map[engine.Status]int{}
				for _, results := range answers {
					made[results[len(results)-1].Status]++
				}
				if expects && (made[engine.OK] != 1 || made[engine.KeyChanged] != 1) || !expects && made[engine.OK] != 2 {
					t.Fatalf("%d groups, round %d: answers of each status: %v", groups, round, made)
				}
				want := capacityOf(s.nodes["a"].opt.Store, "p")
				s.eachStore(func(where string, st *store.Store) {
					want = max(want, capacityOf(st, "p"))
					if p, q := capacityOf(st, "p"), capacityOf(st, "q"); p != q || p != want || p < 10*(round+1) {
						t.Errorf("%d groups, round %d, %s: the policies are %d and %d, elsewhere %d", groups, round, where, p, q, want)
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// While a node of release 0.3.0 is a member, a change that expects policies is refused, and nothing of it is done.
func TestExpectedPoliciesWaitForOldNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		defer s.stop()
		old := slices.DeleteFunc(slices.Clone(fsm.Additions), func(a fsm.Addition) bool { return a.Version > 3 })
		s.names, s.known = []string{"a", "b", "c"}, map[string][]fsm.Addition{"c": old}
		for _, name := range s.names {
			s.start(name)
		}
		s.awaitGroups()
		n := s.nodes["a"]
		ops := []engine.Op{engine.ExpectPolicies(n.opt.Store.PoliciesSum()), setOf("p", 10)}
		if results := doBatch(n, &engine.Batch{Ops: ops, Atomic: true}); results[1].Status != engine.TooNew {
			t.Errorf("status %d", results[1].Status)
		}
		s.eachStore(func(where string, st *store.Store) {
			if c := capacityOf(st, "p"); c != 0 {
				t.Errorf("%s: the policy was set to %d", where, c)
			}
		})
	})
}

// The leader of group 0 is cut off while another node changes a policy. The nodes that are left have the same policy in
// all groups, the new one or none.
func TestPoliciesWhileALeaderIsCutOff(t *testing.T) {
	for _, after := range []time.Duration{11, 22, 28, 35, 45} {
		synctest.Test(t, func(t *testing.T) {
			s := simulateGroups(t, 3, "a", "b", "c")
			defer s.stop()
			for _, from := range s.names {
				for _, to := range s.names {
					if from != to {
						s.net.SetDelay(from, to, 5*time.Millisecond)
					}
				}
			}
			leader := s.leaderOf(0)
			left := slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return s.nodes[name] == leader })
			time.Sleep(time.Second)
			answer := make(chan []engine.Result, 1)
			go func() { answer <- do(s.nodes[left[0]], setOf("p", 7)) }()
			time.Sleep(after * time.Millisecond)
			s.cutOff(leader.opt.Node, true)
			<-answer
			time.Sleep(30 * time.Second)
			want := capacityOf(s.nodes[left[0]].opt.Store, "p")
			for _, name := range left {
				for group, st := range append([]*store.Store{s.nodes[name].opt.Store}, s.nodes[name].opt.KeyStores...) {
					if got := capacityOf(st, "p"); got != want {
						t.Errorf("cut off after %d ms: %s has %d in group %d, and %s has %d in group 0", after, name, got, group, left[0], want)
					}
				}
			}
		})
	}
}
