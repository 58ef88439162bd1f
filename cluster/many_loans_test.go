package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// While a member does not know that a key may have more holders, no key has.
func TestManyLoansWaitForAllMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		s.known["c"] = beforeOwnTimes()
		s.mixed()
		defer s.stop()
		holders := 0
		lendAll := func() (lent int) {
			for range layout.MaxLoans + 1 {
				holders++
				res := do(s.nodes["a"], engine.Op{
					Verb: engine.Lend, Key: []byte("k"), Who: fmt.Append(nil, "holder", holders), Tokens: 1, Loan: &engine.Loan{Number: 1},
					Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10_000, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}},
				})
				if res[0].Status != engine.OK {
					t.Fatalf("holder %d: status %d", holders, res[0].Status)
				}
				lent += int(res[0].Granted)
			}
			return lent
		}
		if n := lendAll(); n != layout.FewLoans {
			t.Errorf("in a mixed cluster there are %d holders", n)
		}
		s.digestsAreEqual()
		s.upgrade("c")
		if n := lendAll(); n != layout.MaxLoans-layout.FewLoans {
			t.Errorf("after the upgrade there are %d more holders", n)
		}
		s.digestsAreEqual()
		s.kill("b")
		s.start("b")
		s.leader()
		s.digestsAreEqual()
	})
}
