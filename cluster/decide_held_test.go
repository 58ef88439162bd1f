package cluster

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
)

// A policy is decided at a node that holds tokens of all its limits. A change of the policy comes into force.
func TestPolicyOfHeldKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		n := others[0]
		own, all := acquire("own:{}", 10_000, 0), acquire("all", 20_000, 3)
		all.Options = engine.FixedCost
		set := func(parts ...engine.Op) {
			do(n, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: parts})
			time.Sleep(time.Second)
		}
		set(own, all)
		check := engine.Op{Verb: engine.Check, Key: []byte("p"), Who: []byte("ann"), Tokens: 2}
		granted := ask(n, check, 500, time.Millisecond)
		local := n.Group().Status().LocalDecisions
		if granted != 1000 || local < 400 {
			t.Errorf("%d granted, %d decisions here", granted, local)
		}
		res := do(n, check)[0]
		if !res.Allowed || len(res.Parts) != 2 || res.Binding != -1 || res.Parts[0].Granted != 2 ||
			res.Parts[1].Granted != 3 || res.Parts[1].Limit != 20_000 {
			t.Errorf("%+v", res)
		}
		time.Sleep(time.Second)
		for key, want := range map[string]int64{"own:ann": 10_000 - 1002, "all": 20_000 - 1503} {
			if res := do(leader, engine.Op{Verb: engine.Look, Key: []byte(key)}); res[0].Remaining != want {
				t.Errorf("%s: %d left, want %d", key, res[0].Remaining, want)
			}
		}
		own.Limit.Capacity = 5000
		set(own, all)
		if granted := ask(n, check, 100, time.Millisecond); granted != 200 {
			t.Errorf("%d granted under the new limit", granted)
		}
		if res := do(n, check)[0]; !res.Allowed || res.Parts[0].Limit != 5000 {
			t.Errorf("after the change: %+v", res)
		}
	})
}

// While the leader is replaced, tokens held are spent at every other node, also at the next leader while it has no
// lease yet.
func TestHeldTokensAreSpentWhileTheLeaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateHeld(t)
		defer s.stop()
		s.hold(purses.MaxAhead)
		s.sharing.Store(true)
		for _, from := range s.names {
			for _, to := range s.names {
				if to != from {
					s.net.SetDelay(from, to, 10*time.Millisecond)
				}
			}
		}
		key := acquire("k", 50_000, 1)
		for range 2000 {
			ask(others[0], key, 1, 0)
			ask(others[1], key, 1, time.Millisecond)
		}
		s.kill(leader.opt.Node)
		late := 0
		hasLeader := func() bool {
			return slices.ContainsFunc(others, func(n *Node) bool { leads, _ := n.Group().Leads(); return leads })
		}
		for after := 0; after < 100; time.Sleep(time.Millisecond) {
			if hasLeader() {
				after++
			}
			for _, n := range others {
				if res, atOnce := tryDo(n, key); !atOnce || !res.Allowed {
					late++
				}
			}
		}
		if late > 0 {
			t.Errorf("%d requests waited", late)
		}
	})
}
