package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// simulateMixed is simulateHeld with a leader that takes tokens in its memory.
func simulateMixed(t *testing.T) (s *simulated, leader *Node, others []*Node) {
	s, leader, others = simulateHeld(t)
	s.sharing.Store(true)
	time.Sleep(15 * time.Second) // earlier leaders' tokens are back
	return s, leader, others
}

// userAndAll asks for tokens of a user and of all.
func userAndAll(user int, capacity, tokens int64) engine.Op {
	return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{{Key: fmt.Append(nil, "user:", user),
		Limit: userLimit, Tokens: tokens}, acquire("all", capacity, tokens)}}
}

// The leader grants requests from the tokens that it holds of a key in demand and from its allowance of another key,
// also requests to other nodes. Exactly the granted tokens are taken of both keys.
func TestTokensOfTwoPlacesAreTakenTogether(t *testing.T) {
	for _, forwarded := range []bool{false, true} {
		t.Run(fmt.Sprintf("forwarded %v", forwarded), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, leader, others := simulateMixed(t)
				defer s.stop()
				n := leader
				if forwarded {
					n = others[0]
				}
				const capacity, times = 10_000, 600
				granted, before := int64(0), int64(0)
				for i := range times {
					if i == 100 {
						before = leader.Group().Status().Decisions
					}
					granted += do(n, userAndAll(i, capacity, 1))[0].Granted
					time.Sleep(time.Millisecond)
				}
				logged := leader.Group().Status().Decisions - before
				res := do(n, userAndAll(times, capacity, 2))[0]
				if !res.Allowed || res.Granted != 2 || res.Binding != -1 || len(res.Parts) != 2 || res.Parts[0].Granted != 2 ||
					res.Parts[0].Remaining != 38 || res.Parts[1].Granted != 2 || res.Parts[1].Limit != capacity {
					t.Errorf("%+v", res)
				}
				peek := userAndAll(times, capacity, 2)
				peek.Options = engine.Peek
				for i := range peek.Parts {
					peek.Parts[i].Options = engine.Peek
				}
				if peeked := do(n, peek)[0]; !peeked.Allowed || peeked.Parts[0].Remaining != res.Parts[0].Remaining-2 {
					t.Errorf("a peek answers %+v after %+v", peeked, res)
				}
				if granted != times || logged > 20 {
					t.Errorf("%d granted, %d operations in the log", granted, logged)
				}
				time.Sleep(time.Second)
				if look := do(leader, engine.Op{Verb: engine.Look, Key: []byte("all")})[0]; look.Remaining != capacity-times-2 ||
					look.Lent != 0 {
					t.Errorf("%d of all are left, want %d; %d are lent", look.Remaining, capacity-times-2, look.Lent)
				}
			})
		})
	}
}

// A request that one limit denies takes nothing from the other, and a refund into the tokens held is not lost.
func TestNothingIsTakenOfADeniedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, others := simulateMixed(t)
		defer s.stop()
		const capacity = 10_000
		granted, denied := int64(0), 0
		for i := range 600 {
			n := leader
			if i%3 == 0 {
				n = others[i%2]
			}
			res := do(n, userAndAll(i%2, capacity, 2))[0] // two users, who may take 40 and then 10 a second
			granted += res.Granted
			if !res.Allowed {
				denied++
			}
			do(n, userAndAll(100+i, capacity, 1))
			granted++
			if i%10 == 0 {
				granted -= do(n, engine.Op{Verb: engine.Refund, Key: []byte("all"), Tokens: 1})[0].Granted
			}
			time.Sleep(time.Millisecond)
		}
		if denied < 100 {
			t.Errorf("%d denied", denied)
		}
		time.Sleep(time.Second)
		if look := do(leader, engine.Op{Verb: engine.Look, Key: []byte("all")})[0]; look.Remaining != capacity-granted ||
			look.Lent != 0 {
			t.Errorf("%d of all are left, want %d; %d are lent", look.Remaining, capacity-granted, look.Lent)
		}
	})
}

// Requests that ask for more than tokens, and checks of a policy that is in shadow or strict, are decided in the log,
// even if tokens are held.
func TestOptionsAreLeftToTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader, _ := simulateMixed(t)
		defer s.stop()
		const capacity = 10_000
		for i := range 200 {
			do(leader, userAndAll(i, capacity, 1))
			time.Sleep(time.Millisecond)
		}
		inMemory := func() int64 {
			status := leader.Group().Status()
			return status.LocalDecisions + status.DecidedByAllowance
		}
		ask := func(name string, op engine.Op, want int64) {
			t.Helper()
			before := inMemory()
			if res := do(leader, op)[0]; !res.Allowed || inMemory()-before != want {
				t.Errorf("%s: %d decided in memory, %+v", name, inMemory()-before, res)
			}
		}
		request := func(user int, keep engine.Keep, maxWait int64) engine.Op {
			op := userAndAll(user, capacity, 1)
			for i := range op.Parts {
				op.Parts[i].Keep = keep
			}
			op.SetMaxWait(maxWait)
			return op
		}
		ask("plain", request(1000, 0, 0), 1)
		ask("KEEP", request(1001, engine.KeepTokens(5), 0), 0)
		ask("MAXWAIT", request(1002, 0, int64(time.Second)), 0)
		costly := request(1004, 0, 0)
		costly.Parts[1].Options, costly.Parts[1].Tokens = engine.FixedCost, 3
		ask("COST", costly, 1)
		ask("AS", engine.Op{Verb: engine.Reserve, Key: []byte("id"), MaxWait: int64(time.Minute),
			Parts: []engine.Op{request(1005, 0, 0)}}, 0)
		parts := []engine.Op{{Key: []byte("user:{}"), Limit: userLimit}, acquire("all", capacity, 0)}
		for i, set := range []engine.Op{{Key: []byte("plain")}, {Key: []byte("shadow"), Options: engine.Shadow},
			{Key: []byte("strict"), Options: engine.Strict}} {
			set.Verb, set.Parts = engine.SetPolicy, parts
			do(leader, set)
			want := int64(0)
			if i == 0 {
				want = 1
			}
			ask("policy "+string(set.Key), engine.Op{Verb: engine.Check, Key: set.Key, Who: fmt.Append(nil, 2000+i), Tokens: 1},
				want)
			do(leader, engine.Op{Verb: engine.DropPolicy, Key: set.Key})
		}
	})
}
