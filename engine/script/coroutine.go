package script

import (
	"iter"

	lua "github.com/yuin/gopher-lua"
)

// coroutine is a function with a stack of its own, on which the interpreter's Go functions run too: so a script may yield
// from anywhere.
type coroutine struct {
	thread   *lua.LState
	body     *lua.LFunction
	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	passed   []lua.LValue // to the other side
	failed   *raised
	resumer  *coroutine
	finished bool
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
	r := runOf(L)
	body, is := L.Get(1).(*lua.LFunction)
	if !is || body.IsG {
		r.badArgument(L, 1, "Lua function expected")
	}
	r.charge(L, coroutinePrice)
	thread, _ := L.NewThread()
	c := &coroutine{thread: thread, body: body}
	c.resume, c.stop = iter.Pull(c.execute)
	if r.coroutines == nil {
		r.coroutines = map[*lua.LState]*coroutine{}
	}
	r.coroutines[thread] = c
	return c
}

// execute runs the body on the coroutine's stack.
func (c *coroutine) execute(yield func(struct{}) bool) {
	c.yield = yield
	r := runOf(c.thread)
	c.thread.Push(c.body)
	for _, v := range c.passed {
		c.thread.Push(v)
	}
	if err := c.thread.PCall(len(c.passed), lua.MultRet, nil); err != nil {
		c.passed, c.failed = nil, r.caught(err)
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

// continues runs the coroutine until it yields or ends.
func (r *run) continues(c *coroutine, args []lua.LValue) ([]lua.LValue, *raised) {
	c.resumer, r.current = r.current, c
	c.passed = args
	if _, yielded := c.resume(); !yielded {
		c.finished = true
		delete(r.coroutines, c.thread)
	}
	r.current = c.resumer
	return c.passed, c.failed
}

func (r *run) checkCoroutine(L *lua.LState, i int) (*coroutine, bool) {
	thread, is := L.Get(i).(*lua.LState)
	if !is {
		r.badArgument(L, i, "coroutine expected")
	}
	c, alive := r.coroutines[thread]
	return c, alive
}

func coroutineResume(L *lua.LState) int {
	r := runOf(L)
	c, alive := r.checkCoroutine(L, 1)
	if status := r.status(c, alive); status != "suspended" {
		L.Push(lua.LFalse)
		return 1 + pushString(L, "cannot resume "+nonSuspended(status)+" coroutine")
	}
	r.charge(L, 20+L.GetTop()/slotsPerStep)
	results, failed := r.continues(c, values(L)[1:])
	if failed != nil {
		L.Push(lua.LFalse)
		L.Push(r.surviveRaised(L, failed))
		return 2
	}
	L.Push(lua.LTrue)
	return 1 + pushAll(L, results)
}

func nonSuspended(status string) string {
	if status == "dead" {
		return status
	}
	return "non-suspended"
}

func pushAll(L *lua.LState, list []lua.LValue) int {
	for _, v := range list {
		L.Push(v)
	}
	return len(list)
}

func coroutineWrap(L *lua.LState) int {
	c := newCoroutine(L)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		r := runOf(L)
		if status := r.status(c, !c.finished); status != "suspended" {
			r.fail(L, "cannot resume %s coroutine", nonSuspended(status))
		}
		r.charge(L, 20+L.GetTop()/slotsPerStep)
		results, failed := r.continues(c, values(L))
		if failed == nil {
			return pushAll(L, results)
		}
		value := r.surviveRaised(L, failed)
		if text, is := value.(lua.LString); is {
			value = lua.LString(r.where(L, 1)) + text
		}
		r.raise(L, value)
		return 0
	}))
	return 1
}

func coroutineYield(L *lua.LState) int {
	r := runOf(L)
	c := r.current
	if c == nil {
		r.raise(L, lua.LString("attempt to yield across metamethod/C-call boundary"))
	}
	c.passed = values(L)
	r.charge(L, 20+len(c.passed)/slotsPerStep)
	if !c.yield(struct{}{}) { // the run is over
		r.end(L, BudgetError)
	}
	return pushAll(L, c.passed)
}

func (r *run) status(c *coroutine, alive bool) string {
	if !alive || c.finished {
		return "dead"
	}
	if c == r.current {
		return "running"
	}
	for other := r.current; other != nil; other = other.resumer {
		if other == c {
			return "normal"
		}
	}
	return "suspended"
}

func coroutineStatus(L *lua.LState) int {
	r := runOf(L)
	c, alive := r.checkCoroutine(L, 1)
	return pushString(L, r.status(c, alive))
}

func coroutineRunning(L *lua.LState) int {
	if c := runOf(L).current; c != nil {
		L.Push(c.thread)
	} else {
		L.Push(lua.LNil)
	}
	return 1
}
