package upstream

import (
	"errors"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/loans"
	"github.com/stintdb/stint/server/command/limiter"
)

// lend carries out operations on loans by the connections to home.
func (u *Upstream) lend(ops ...engine.Op) []engine.Result {
	results := make([]engine.Result, len(ops))
	for i := range ops {
		results[i] = u.lendOne(&ops[i])
	}
	return results
}

// loanInts is the number of integers in the reply to an operation on a loan.
const loanInts = 5

// lendOne sends an operation on a loan to home, and waits for the answer.
func (u *Upstream) lendOne(op *engine.Op) (res engine.Result) {
	var words []string
	if op.Verb == engine.Return {
		words = limiter.ReturnWords(*op)
	} else {
		words = limiter.LendWords(*op)
	}
	done := make(chan struct{})
	u.home.send(u.opt.Timeout, op.Key, words, func(r reply, err error) {
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
