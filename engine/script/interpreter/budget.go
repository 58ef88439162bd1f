package interpreter

import (
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// Budget is the number of steps that a script may take. A step is about one operation of the interpreter; 16 bytes of a
// string or of a table cost one step as well, so the budget bounds time and memory.
const Budget = 500_000

// Prices in steps.
const (
	BytesPerStep = syntax.BytesPerStep // of a text that is built or read
	SlotsPerStep = 1                   // values that are copied
	InvokePrice  = 10                  // of a call of the script's functions from Go

	ElementaryPrice = 20 // of a function of package elementary, which is free in dialect 1

	failurePrice   = 200    // an error that pcall catches
	tracePrice     = 20_000 // an error that names no operand, which cost this much in dialect 1
	coroutinePrice = 2000   // a stack of its own
	loadPrice      = 1500   // of compiling the shortest text
)

// stepsPerLook is the number of steps between two looks at whether the time is up.
const stepsPerLook = 4096

// TimeError is the reply to a script whose caller has no more time. No pcall catches it.
const TimeError = "ERR script takes longer than a second: it does too much in one call, or the machine is overloaded"

// BudgetError is the reply to a script that is over the budget. No pcall catches it.
const BudgetError = "ERR script takes more than its budget of 500000 steps: it loops for ever, or does too much in one call"

// maxIndexes is the largest chain of __index tables.
const maxIndexes = 8

// Charge takes steps from the budget.
func (L *Thread) Charge(steps int) {
	r := L.run
	if r.budget -= steps; r.budget < r.lookAt {
		L.look()
	}
}

// Left is the number of steps that are left, less than 0 if the script took more than its budget.
func (r *Run) Left() int { return r.budget }

// Spend takes steps when the script has ended, and so does not end it.
func (r *Run) Spend(steps int) { r.budget -= steps }

// look ends the script if its budget is used up, or its caller has no more time for it.
func (L *Thread) look() {
	r := L.run
	if r.budget < 0 {
		L.End(BudgetError)
	}
	r.lookAt = max(r.budget-stepsPerLook, 0)
	if r.Host.Expired() {
		L.End(TimeError)
	}
}

// End ends the script with an error that no pcall catches.
func (L *Thread) End(text string) {
	r := L.run
	r.budget = -1
	if r.over == "" {
		r.over = text
	}
	panic(&Raised{value: value.String(r.over), final: true})
}

// ChargeBytes takes the price of a text that is built or read.
func (L *Thread) ChargeBytes(n int) {
	if n >= BytesPerStep {
		L.Charge(n / BytesPerStep)
	}
}
