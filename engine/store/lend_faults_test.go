package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// fault is an error in the protocol of loans.
type fault struct {
	name     string
	carryOut func(h *history, op *engine.Op) engine.Result // an operation on loans
	changed  func(h *history)                              // after another limit came into force
	reloaded func(h *history)                              // after the store was loaded again
}

var faults = []fault{
	// Lent tokens are charged, and come back with time, before they are spent.
	{name: "nothing is set aside", carryOut: func(h *history, op *engine.Op) engine.Result {
		op.Options &^= engine.Merged
		switch op.Verb {
		case engine.Lend:
			if look := h.ask(engine.Op{Verb: engine.Look, Key: op.Key}); look.Status == engine.OK && look.Held != op.Limit {
				return engine.Result{}
			}
			free := h.ask(engine.Op{Key: op.Key, Limit: op.Limit, Tokens: 1, Options: engine.Peek}).Remaining
			if n := min(op.Tokens, free/algorithm.LendPart); n > 0 && h.ask(engine.Op{Key: op.Key, Limit: op.Limit, Tokens: n}).Allowed {
				return engine.Result{Granted: n, Number: op.Loan.Number}
			}
		case engine.Return:
			if op.Loan.Left > 0 {
				h.ask(engine.Op{Verb: engine.Refund, Key: op.Key, Tokens: op.Loan.Left})
			}
		}
		return engine.Result{}
	}},
	// A holder's unspent tokens count as spent, and it spends them later.
	{name: "left is not reported", carryOut: func(h *history, op *engine.Op) engine.Result {
		if op.Verb == engine.Lend {
			op.Loan.Left = 0
		}
		return *h.ask(*op)
	}},
	// The number that the store has is taken for the last that the holder knows.
	{name: "no compare and set", carryOut: func(h *history, op *engine.Op) engine.Result {
		if op.Loan != nil {
			h.follow(op)
		}
		return *h.ask(*op)
	}},
	// An operation is carried out if it was sent later than the last that was.
	{name: "only older ones are ignored", carryOut: func(h *history, op *engine.Op) engine.Result {
		if op.Loan != nil && h.loanOf(op).Number < op.Loan.Number {
			h.follow(op)
		}
		return *h.ask(*op)
	}},
	// Tokens count as spent that are spent later.
	{name: "voided while alive", carryOut: func(h *history, op *engine.Op) engine.Result {
		res := *h.ask(*op)
		if op.Verb == engine.Lend && h.r.IntN(10) == 0 {
			h.ask(engine.Op{Verb: engine.Void, Key: op.Key, Who: op.Who, Options: engine.Force})
		}
		return res
	}},
	{name: "ended while alive", carryOut: func(h *history, op *engine.Op) engine.Result {
		if op.Verb == engine.Lend {
			op.MaxWait = sec / 10
		}
		return *h.ask(*op)
	}},
	// Spent tokens come back.
	{name: "all comes back", carryOut: func(h *history, op *engine.Op) engine.Result {
		if op.Verb == engine.Return {
			op.Loan.Left = h.loanOf(op).Lent
		}
		return *h.ask(*op)
	}},
	// A holder spends the tokens of requests that were granted, later.
	{name: "granted requests count as lent", carryOut: func(h *history, op *engine.Op) engine.Result {
		res := *h.ask(*op)
		res.Lent += merged(op, &res)
		return res
	}},
	{name: "a change of the limit forgets loans", changed: (*history).forgetLoans},
	{name: "a snapshot forgets loans", reloaded: (*history).forgetLoans},
}

// loanOf is the loan of the holder of an operation.
func (h *history) loanOf(op *engine.Op) engine.Result {
	return *h.ask(engine.Op{Verb: engine.Void, Key: op.Key, Who: op.Who})
}

// follow has an operation state the store's last number, and no more tokens than the store allows.
func (h *history) follow(op *engine.Op) {
	loan := h.loanOf(op)
	op.Loan.Previous, op.Loan.Left = loan.Number, min(op.Loan.Left, loan.Lent)
}

// forgetLoans has all tokens come back that are set aside.
func (h *history) forgetLoans() {
	listed := *h.ask(engine.Op{Verb: engine.Loans, Key: lentKey})
	for _, one := range listed.LoansListed() {
		op := engine.Op{Verb: engine.Return, Key: lentKey, Who: one.Holder, Loan: &engine.Loan{Number: 1 << 60, Left: one.Tokens}}
		op.Loan.Previous = h.loanOf(&op).Number
		h.ask(op)
	}
}
