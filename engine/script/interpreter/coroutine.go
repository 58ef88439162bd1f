package interpreter

import (
	"iter"

	lua "github.com/yuin/gopher-lua"
)

// coroutine is a function with a stack of its own, on which the interpreter's Go functions run too: so a script may
// yield from anywhere.
type coroutine struct {
	thread   *lua.LState
	body     *lua.LFunction
	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	passed   []lua.LValue // to the other side
	failed   *Raised
	resumer  *coroutine
	finished bool
}

// coroutines are the coroutines of a run.
type coroutines struct {
	alive   map[*lua.LState]*coroutine
	current *coroutine
}

var coroutineFunctions = map[string]lua.LGFunction{
	"create":  func(L *lua.LState) int { L.Push(newCoroutine(L).thread); return 1 },
	"resume":  coroutineResume,
	"running": coroutineRunning,
	"status":  coroutineStatus,
	"wrap":    coroutineWrap,
	"yield":   coroutineYield,
}

func newCoroutine(L *lua.LState) *coroutine {
	r := Of(L)
	body, is := L.Get(1).(*lua.LFunction)
	if !is || body.IsG {
		r.BadArgument(L, 1, "Lua function expected")
	}
	r.Charge(L, coroutinePrice)
	thread, _ := L.NewThread()
	c := &coroutine{thread: thread, body: body}
	c.resume, c.stop = iter.Pull(c.execute)
	if r.coroutines.alive == nil {
		r.coroutines.alive = map[*lua.LState]*coroutine{}
	}
	r.coroutines.alive[thread] = c
	return c
}

// execute runs the body on the coroutine's stack.
func (c *coroutine) execute(yield func(struct{}) bool) {
	c.yield = yield
	r := Of(c.thread)
	c.thread.Push(c.body)
	for _, v := range c.passed {
		c.thread.Push(v)
	}
	if err := c.thread.PCall(len(c.passed), lua.MultRet, nil); err != nil {
		c.passed, c.failed = nil, r.Caught(err)
		return
	}
	c.passed = values(c.thread)
}

// values copies the stack of the current function.
func values(L *lua.LState) []lua.LValue {
	list := make([]lua.LValue, L.GetTop())
	for i := range list {
		list[i] = L.Get(i + 1)
	}
	return list
}

// run lets the coroutine run until it yields or ends.
func (all *coroutines) run(c *coroutine, args []lua.LValue) ([]lua.LValue, *Raised) {
	c.resumer, all.current = all.current, c
	c.passed = args
	if _, yielded := c.resume(); !yielded {
		c.finished = true
		delete(all.alive, c.thread)
	}
	all.current = c.resumer
	return c.passed, c.failed
}

func checkCoroutine(r *Run, L *lua.LState, i int) (*coroutine, bool) {
	thread, is := L.Get(i).(*lua.LState)
	if !is {
		r.BadArgument(L, i, "coroutine expected")
	}
	c, alive := r.coroutines.alive[thread]
	return c, alive
}

func coroutineResume(L *lua.LState) int {
	r := Of(L)
	c, alive := checkCoroutine(r, L, 1)
	if status := r.coroutines.status(c, alive); status != "suspended" {
		L.Push(lua.LFalse)
		return 1 + PushString(L, "cannot resume "+nonSuspended(status)+" coroutine")
	}
	r.Charge(L, 20+L.GetTop()/SlotsPerStep)
	results, failed := r.coroutines.run(c, values(L)[1:])
	if failed != nil {
		L.Push(lua.LFalse)
		L.Push(r.surviveRaised(L, failed))
		return 2
	}
	L.Push(lua.LTrue)
	return 1 + PushAll(L, results)
}

func nonSuspended(status string) string {
	if status == "dead" {
		return status
	}
	return "non-suspended"
}

// PushAll returns several values to the script, and gives their number.
func PushAll(L *lua.LState, list []lua.LValue) int {
	for _, v := range list {
		L.Push(v)
	}
	return len(list)
}

func coroutineWrap(L *lua.LState) int {
	c := newCoroutine(L)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		r := Of(L)
		if status := r.coroutines.status(c, !c.finished); status != "suspended" {
			r.Fail(L, "cannot resume %s coroutine", nonSuspended(status))
		}
		r.Charge(L, 20+L.GetTop()/SlotsPerStep)
		results, failed := r.coroutines.run(c, values(L))
		if failed == nil {
			return PushAll(L, results)
		}
		value := r.surviveRaised(L, failed)
		if text, is := value.(lua.LString); is {
			value = lua.LString(r.where(L, 1)) + text
		}
		r.Raise(L, value)
		return 0
	}))
	return 1
}

func coroutineYield(L *lua.LState) int {
	r := Of(L)
	c := r.coroutines.current
	if c == nil {
		r.Raise(L, lua.LString("attempt to yield across metamethod/C-call boundary"))
	}
	c.passed = values(L)
	r.Charge(L, 20+len(c.passed)/SlotsPerStep)
	if !c.yield(struct{}{}) { // the run is over
		r.End(L, BudgetError)
	}
	return PushAll(L, c.passed)
}

func (all *coroutines) status(c *coroutine, alive bool) string {
	if !alive || c.finished {
		return "dead"
	}
	if c == all.current {
		return "running"
	}
	for other := all.current; other != nil; other = other.resumer {
		if other == c {
			return "normal"
		}
	}
	return "suspended"
}

func coroutineStatus(L *lua.LState) int {
	r := Of(L)
	c, alive := checkCoroutine(r, L, 1)
	return PushString(L, r.coroutines.status(c, alive))
}

func coroutineRunning(L *lua.LState) int {
	if c := Of(L).coroutines.current; c != nil {
		L.Push(c.thread)
	} else {
		L.Push(lua.LNil)
	}
	return 1
}
