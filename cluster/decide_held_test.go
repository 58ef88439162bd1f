package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// A policy all of whose limits have tokens at a node is decided there. Its counts go on, and a change of it comes into force.
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
		local := n.holder.table.Decisions.Load()
		if granted != 1000 || local < 400 {
			t.Errorf("%d granted, %d decisions here", granted, local)
		}
		res := do(n, check)[0]
		if !res.Allowed || len(res.Parts) != 2 || res.Binding != -1 || res.Parts[0].Granted != 2 || res.Parts[1].Granted != 3 || res.Parts[1].Limit != 20_000 {
			t.Errorf("%+v", res)
		}
		if p, _ := n.opt.Store.Policy("p"); p.Granted != 501 {
			t.Errorf("%d grants of 501 are counted", p.Granted)
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
