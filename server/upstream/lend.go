package upstream

import (
	"errors"
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/loans"
	"github.com/stintdb/stint/server/command/limiter"
)

// lend carries out operations on one key by the connections to home, in the course of an operation on a loan. It sends
// all, and then waits for the answers.
func (u *Upstream) lend(ops ...engine.Op) []engine.Result {
	results := make([]engine.Result, len(ops))
	var sent sync.WaitGroup
	for i := range ops {
		if ops[i].Verb == engine.Look { // the user at home need not have RL.INFO
			results[i].Status = loans.Refused
			continue
		}
		sent.Add(1)
		u.askLoan(ops[i], func(res engine.Result) {
			results[i] = res
			sent.Done()
		})
	}
	sent.Wait()
	return results
}

// wordsOf returns the command of an operation.
func wordsOf(op *engine.Op) []string {
	switch op.Verb {
	case engine.Lend:
		return limiter.LendWords(*op)
	case engine.Return:
		return limiter.ReturnWords(*op)
	case engine.Acquire:
		return limiter.AcquireWords(op.Key, op.Limit, op.Tokens, op.Options)
	}
	return nil
}

// resultOf reads home's answer to an operation.
func resultOf(op *engine.Op, r *reply, err error) engine.Result {
	if err == nil {
		err = r.refused()
	}
	switch n := r.ints; {
	case errors.Is(err, errRefused), errors.Is(err, errPauses):
		return engine.Result{Status: loans.Refused}
	case err != nil, !isReplyTo(op, n), n[0] < 0:
		return engine.Result{Status: engine.NoHome} // an operation on a loan stays prepared, whether home has carried it out or not
	case op.Verb == engine.Acquire && op.Limit.Algorithm == limits.GCRA: // a look, the only request here
		return seen(op, n)
	case op.Verb == engine.Acquire:
		return answered(op.Limit.Algorithm, n)
	case n[4] < 0:
		return engine.Result{Status: engine.NoHome}
	default:
		return engine.Result{Granted: n[0], Limit: n[1], Remaining: n[2], Lent: n[3], Number: uint64(n[4])}
	}
}

// seen returns the answer to a look at a limit whose home has shown the tokens that are left.
func seen(op *engine.Op, n []int64) engine.Result {
	res := answered(op.Limit.Algorithm, n)
	switch res.Allowed = res.Remaining >= op.Tokens; {
	case res.Allowed:
	case op.Tokens > res.Limit:
		res.Wait = engine.NeverWait
	default:
		res.Wait = op.Limit.Rate.Refill(op.Tokens - res.Remaining)
	}
	return res
}
