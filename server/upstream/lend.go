package upstream

import (
	"errors"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/loans"
	"github.com/stintdb/stint/server/command/limiter"
)

// lender carries out operations on loans by the connections to home.
type lender struct{ *Upstream }

func (l lender) Turns(key []byte) loans.Turns { return l.home.of(slot.Of(key)).turns }

func (l lender) IsReachable() bool {
	connected, _ := l.home.status()
	return connected
}

func (l lender) Do(ops ...engine.Op) []engine.Result {
	results := make([]engine.Result, len(ops))
	for i := range ops {
		results[i] = l.do(&ops[i])
	}
	return results
}

// loanInts is the number of integers in the reply to an operation on a loan.
const loanInts = 5

// do sends an operation on a loan to home, and waits for the answer.
func (l lender) do(op *engine.Op) (res engine.Result) {
	var words []string
	if op.Verb == engine.Return {
		words = limiter.ReturnWords(*op)
	} else {
		words = limiter.LendWords(*op)
	}
	done := make(chan struct{})
	l.home.send(l.opt.Timeout, op.Key, words, func(r reply, err error) {
		if err == nil {
			err = r.refused()
		}
		switch n := r.ints; {
		case errors.Is(err, errRefused):
			res.Status = loans.Refused
		case err != nil, len(n) != loanInts, n[0] < 0, n[4] < 0:
			res.Status = engine.NoHome // the operation stays prepared, whether home has carried it out or not
		default:
			res = engine.Result{Granted: n[0], Limit: n[1], Remaining: n[2], Lent: n[3], Number: uint64(n[4])}
		}
		close(done)
	})
	<-done
	return res
}

// purses are those of keys of home.
type purses struct{ *Upstream }

func (p purses) Do(_ int, ops ...engine.Op) []engine.Result {
	return loans.Do(p.opt.Decider.Decide, ops...)
}

func (p purses) Turns(int) loans.Turns { return p.turns }
func (p purses) Holder(int) string     { return p.opt.Holder() }

func (p purses) InPurse(limit limits.Limit) (kept limits.Limit, ok bool) { return inPurse(limit) }

func (p purses) Replicas() (all []loans.Replica) {
	for _, r := range p.opt.Replicas() {
		each := func(visit func([]byte, limits.Limit, purse.Purse)) {
			if r.Store.PurseCount() == 0 {
				return
			}
			r.Store.Purses(func(name []byte, limit limits.Limit, of purse.Purse) {
				if p.ofHome(name) {
					visit(name, limit, of)
				}
			})
		}
		all = append(all, loans.Replica{At: here, Leads: r.Leads, Now: r.Now, Each: each})
	}
	return all
}
