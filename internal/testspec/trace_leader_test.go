package testspec

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Ann grants two tokens from memory and writes them into the log, then grants two again, and Ben leads. That follows the
// rules, and the same with one step changed does not.
func TestLeadersAreFollowed(t *testing.T) {
	const second = int64(time.Second)
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 12, Rate: limits.Rate{Tokens: 2, Period: second}} // the part is 3
	request := func(verb engine.Verb, tokens, prior int64) engine.Op {
		return engine.Op{Verb: verb, Key: []byte("k"), Limit: limit, Tokens: tokens, PriorAt: prior}
	}
	type step struct {
		at    int64  // in seconds
		where string // "log", or the leader who answers from memory
		op    engine.Op
	}
	begins := engine.Op{Verb: engine.Flush}
	steps := func() []step {
		return []step{
			{1, "Ann", begins},
			{1, "Ann", request(engine.Acquire, 2, 0)},
			{1, "log", request(engine.Carry, 2, second)},
			{1, "log", request(engine.Acquire, 1, 0)},
			{10, "Ann", request(engine.Acquire, 2, 0)},
			{10, "Ben", begins},
			{12, "Ben", request(engine.Acquire, 2, 0)},
			{12, "log", request(engine.Carry, 2, 12*second)},
			{12, "log", request(engine.Acquire, 5, 10*second)},
			{20, "Ben", request(engine.Acquire, 1, 0)},
			{21, "Cid", begins},
			{21, "log", request(engine.Acquire, 5, 21*second)},
		}
	}
	for name, change := range map[string]func(all []step){
		"":                          func([]step) {},
		"takes more than its part":  func(all []step) { all[1].op.Tokens = 4 },
		"carries too little":        func(all []step) { all[2].op.Tokens = 0 },
		"carries nothing":           func(all []step) { all[2].op.Verb = engine.Look },
		"forgets an earlier leader": func(all []step) { all[6].at, all[6].op.Tokens = 10, 3 },
		"leads no longer":           func(all []step) { all[9].where = "Ann" },
		"counts no earlier leader":  func(all []step) { all[7].op.Verb, all[8].op.PriorAt, all[6].op.Tokens = engine.Look, 0, 3 },
	} {
		synctest.Test(t, func(t *testing.T) {
			var leaders Leaders
			log, all := leaders.Log(), steps()
			change(all)
			for i := range all {
				trace := log
				if all[i].where != "log" {
					trace = leaders.Memory(all[i].where)
				}
				res := engine.Result{Allowed: true, Granted: all[i].op.Tokens}
				trace(all[i].at*second, []engine.Op{all[i].op}, []engine.Result{res})
				time.Sleep(time.Millisecond)
			}
			if events, err := leaders.Err(); (err == nil) != (name == "") || events == 0 {
				t.Errorf("%q: %d steps: %v", name, events, err)
			}
		})
	}
}
