package script

import (
	"github.com/stintdb/stint/engine/script/syntax"

	lua "github.com/yuin/gopher-lua"
)

// Budget is the number of steps that a script may take. A step is about one operation of the interpreter; 16 bytes of a
// string or of a table cost one step as well, so the budget bounds time and memory.
const Budget = 500_000

// Prices in steps.
const (
	bytesPerStep   = syntax.BytesPerStep
	slotsPerStep   = 1
	callPrice      = 80     // redis.call
	fmodPrice      = 100    // math.fmod
	replyPrice     = 40     // a table with one field
	capturePrice   = 4      // a part of a text that a pattern matched
	failurePrice   = 200    // an error that pcall catches
	tracePrice     = 20_000 // one of gopher-lua's own errors, for which it writes down the stack
	invokePrice    = 10     // a call of the script's functions from Go
	coroutinePrice = 2000   // a stack of its own
	loadPrice      = 1500   // of compiling the shortest text
)

// stepsPerLook is the number of steps between two looks at whether the time is up.
const stepsPerLook = 4096

// TimeError is the reply to a script whose caller has no more time. No pcall catches it.
const TimeError = "ERR script takes longer than a second: it does too much in one call, or the machine is overloaded"

// BudgetError is the reply to a script that is over the budget. No pcall catches it.
const BudgetError = "ERR script takes more than its budget of 500000 steps: it loops for ever, or does too much in one call"

func init() {
	// Keys from here on do not extend a table's array. The budget ends a script before it fills that number.
	lua.MaxArrayIndex = 1 << 17
	lua.MaxTableGetLoop = maxIndexes
}

// maxIndexes is the largest chain of __index tables.
const maxIndexes = 8

// charge takes steps from the budget.
func (r *run) charge(L *lua.LState, steps int) {
	if r.budget -= steps; r.budget < r.lookAt {
		r.look(L)
	}
}

// left is the number of steps that are left, less than 0 if the script took more than its budget.
func (r *run) left() int { return r.budget }

// spend takes steps when the script has ended, and so does not end it.
func (r *run) spend(steps int) { r.budget -= steps }

// look ends the script if its budget is used up, or its caller has no more time for it.
func (r *run) look(L *lua.LState) {
	if r.budget < 0 {
		r.end(L, BudgetError)
	}
	r.lookAt = max(r.budget-stepsPerLook, 0)
	if r.host.Expired() {
		r.end(L, TimeError)
	}
}

// end ends the script with an error that no pcall catches.
func (r *run) end(L *lua.LState, text string) {
	r.budget = -1
	if r.over == "" {
		r.over = text
	}
	throw(L, &raised{value: lua.LString(r.over), final: true})
}

// chargeBytes takes the price of a text that is built or read.
func (r *run) chargeBytes(L *lua.LState, n int) {
	if n >= bytesPerStep {
		r.charge(L, n/bytesPerStep)
	}
}
