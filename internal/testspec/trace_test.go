package testspec

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/purse"
)

// A purse that borrows three tokens, spends one and returns two follows the rules, and the same with one step changed does
// not.
func TestPursesAreFollowed(t *testing.T) {
	type step struct {
		op    engine.Op
		after purse.Purse
	}
	op := func(verb engine.Verb, tokens int64, options engine.Option, number, previous uint64) engine.Op {
		return engine.Op{Verb: verb, Key: []byte("k"), Tokens: tokens, Options: options, Loan: &engine.Loan{Number: number, Previous: previous}}
	}
	steps := func() []step {
		return []step{
			{op(engine.Prepare, 0, 0, 0, 0), purse.Purse{Number: 1, Prepared: true}},
			{op(engine.Deposit, 3, 0, 1, 1), purse.Purse{Tokens: 3, Previous: 1, Number: 1}},
			{op(engine.Deposit, 3, 0, 1, 1), purse.Purse{Tokens: 2, Previous: 1, Number: 1}}, // again: nothing comes in
			{op(engine.Prepare, 0, engine.Cancel, 0, 0), purse.Purse{Previous: 1, Number: 2, Prepared: true, Returning: true, Left: 2}},
			{op(engine.Deposit, 0, engine.Force, 2, 0), purse.Purse{Number: 2}},
		}
	}
	for name, change := range map[string]func(all []step){
		"":                              func([]step) {},
		"takes an answer again":         func(all []step) { all[2].after.Tokens = 5 },
		"takes more than was lent":      func(all []step) { all[1].op.Tokens, all[1].after.Tokens = 4, 4 },
		"returns what it keeps":         func(all []step) { all[3].after.Tokens = 2 },
		"states more than it has":       func(all []step) { all[3].after.Left = 4 },
		"uses a number again":           func(all []step) { all[3].after.Number = 1 },
		"keeps the loan after a return": func(all []step) { all[4].after.Previous = 1 },
	} {
		tracer := Tracer{Ledger: &Ledger{}, Holder: "zone"}
		home := Tracer{Ledger: tracer.Ledger}
		lend := op(engine.Lend, 3, 0, 1, 0)
		lend.Who = []byte("zone")
		home.Trace(1, []engine.Op{lend}, []engine.Result{{Granted: 3, Lent: 3, Number: 1}})
		back := op(engine.Return, 0, 0, 2, 1) // all three were spent, and the next purse begins at the same instant
		back.Who = lend.Who
		home.Trace(1, []engine.Op{back, lend}, []engine.Result{{}, {Granted: 1, Lent: 1, Number: 1}})
		all := steps()
		change(all)
		for i := range all {
			res := engine.Result{Reply: make([]byte, purse.Bytes)}
			all[i].after.Store(res.Reply)
			tracer.Trace(1, []engine.Op{all[i].op}, []engine.Result{res})
		}
		if events, err := tracer.Err(); (err == nil) != (name == "") || events != len(all) {
			t.Errorf("%q: %d steps: %v", name, events, err)
		}
	}
}

// After the state was replaced, the first operation on a purse may answer what was prepared before, and later ones follow
// the rules.
func TestPurseIsNotKnownAfterReplacement(t *testing.T) {
	var tracer Tracer
	deposit := func(after purse.Purse, granted int64) error {
		res := engine.Result{Granted: granted, Reply: make([]byte, purse.Bytes)}
		after.Store(res.Reply)
		tracer.Trace(1, []engine.Op{{Verb: engine.Deposit, Key: []byte("k"), Tokens: 3, Loan: &engine.Loan{Number: 5, Previous: 5}}}, []engine.Result{res})
		_, err := tracer.Err()
		return err
	}
	tracer.Trace(0, nil, nil)
	if err := deposit(purse.Purse{Tokens: 3, Previous: 5, Number: 5}, 3); err != nil {
		t.Error(err)
	}
	if err := deposit(purse.Purse{Tokens: 6, Previous: 5, Number: 5}, 3); err == nil {
		t.Error("the purse takes the same answer twice")
	}
}

// A shard decides at the latest time that it was given: a loan of 5 s may have ended for an operation of a second after it,
// if another operation was 10 s later.
func TestLoanEndsByTheTimeOfItsShard(t *testing.T) {
	for _, later := range []int64{0, 10} {
		var tracer Tracer
		loan := func(verb engine.Verb, now int64, number uint64, res engine.Result) {
			op := engine.Op{Verb: verb, Key: []byte("k"), Who: []byte("h"), Tokens: 3, MaxWait: 5, Loan: &engine.Loan{Number: number, Previous: number - 1}}
			tracer.Trace(now, []engine.Op{op}, []engine.Result{res})
		}
		loan(engine.Lend, 1, 1, engine.Result{Granted: 3, Lent: 3, Number: 1})
		tracer.Trace(1+later, []engine.Op{{Verb: engine.Look}}, make([]engine.Result, 1))
		loan(engine.Return, 2, 4, engine.Result{})
		if _, err := tracer.Err(); (err == nil) != (later > 0) {
			t.Errorf("%d s later: %v", later, err)
		}
	}
}

// An operation that is carried out again and answered alike may have found its loan, or made a new one after the loan's
// end. The times of a state that was replaced do not count: without them, the new loan has no end.
func TestLoanOfARepeatedOperation(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(tracer *Tracer)
		mayEnd bool // before the next operation
	}{
		{"on one clock", func(*Tracer) {}, false},
		{"after a later operation", func(tracer *Tracer) { tracer.Trace(100, []engine.Op{{Verb: engine.Look}}, make([]engine.Result, 1)) }, true},
		{"after a later state", func(tracer *Tracer) {
			tracer.Trace(100, []engine.Op{{Verb: engine.Look}}, make([]engine.Result, 1))
			tracer.Trace(0, nil, nil)
		}, false},
	} {
		for _, lasts := range []bool{true, false} {
			var tracer Tracer
			ask := func(now int64, op engine.Op, res engine.Result) {
				op.Key, op.Who = []byte("k"), []byte("h")
				tracer.Trace(now, []engine.Op{op}, []engine.Result{res})
			}
			c.before(&tracer)
			ask(9, engine.Op{Verb: engine.Void, Options: engine.Force}, engine.Result{})
			lend, lent := engine.Op{Verb: engine.Lend, Tokens: 3, MaxWait: 5, Loan: &engine.Loan{Number: 1}}, engine.Result{Granted: 3, Lent: 3, Number: 1}
			ask(10, lend, lent)
			lend.MaxWait = 0
			ask(20, lend, lent)
			back := engine.Result{}
			if lasts {
				back.Granted = 3
			}
			ask(200, engine.Op{Verb: engine.Return, Loan: &engine.Loan{Number: 2, Previous: 1, Left: 3}}, back)
			if _, err := tracer.Err(); (err == nil) != (lasts || c.mayEnd) {
				t.Errorf("%s, lasts %v: %v", c.name, lasts, err)
			}
		}
	}
}
