package interpreter

import (
	"iter"
	"slices"
	"unsafe"

	"github.com/stintdb/stint/engine/script/value"
)

var coroutineFunctions = map[string]GoFunction{
	"create":  func(L *Thread) int { return L.Push(newCoroutine(L).value()) },
	"resume":  coroutineResume,
	"running": coroutineRunning,
	"status":  coroutineStatus,
	"wrap":    coroutineWrap,
	"yield":   coroutineYield,
}

func (c *coroutine) value() value.Value {
	return value.Reference(value.ThreadKind, unsafe.Pointer(c))
}

func newCoroutine(L *Thread) *coroutine {
	body := AsFunction(L.Get(1))
	L.Check(body != nil && body.proto != nil, 1, "Lua function expected")
	L.Charge(coroutinePrice)
	c := &coroutine{thread: &Thread{run: L.run}, body: L.Get(1)}
	c.resume, c.stop = iter.Pull(c.execute)
	all := &L.run.coroutines
	if all.alive == nil {
		all.alive = map[*coroutine]*coroutine{}
	}
	all.alive[c] = c
	return c
}

// execute runs the body on the coroutine's stack.
func (c *coroutine) execute(yield func(struct{}) bool) {
	c.yield = yield
	L := c.thread
	L.PushAll(c.passed)
	n := 0
	if c.failed = L.protect(func() { n = L.call(c.body, 0) }); c.failed != nil {
		c.passed = nil
		return
	}
	c.passed = slices.Clone(L.stack[:n])
}

// arguments copies those of the current function, from one on.
func (L *Thread) argumentsFrom(from int) []value.Value { return slices.Clone(L.stack[L.base+from-1:]) }

// run lets the coroutine run until it yields or ends.
func (all *coroutines) run(c *coroutine, args []value.Value) ([]value.Value, *Raised) {
	c.resumer, all.current = all.current, c
	c.passed = args
	if _, yielded := c.resume(); !yielded {
		c.finished = true
		delete(all.alive, c)
	}
	all.current = c.resumer
	return c.passed, c.failed
}

func (L *Thread) checkCoroutine(i int) *coroutine {
	v := L.Get(i)
	L.Check(v.Kind() == value.ThreadKind, i, "coroutine expected")
	return (*coroutine)(v.Object())
}

func coroutineResume(L *Thread) int {
	results, problem, failed := L.resume(L.checkCoroutine(1), 2)
	switch {
	case problem != "":
		return L.Push(value.False) + L.PushString(problem)
	case failed != nil:
		v := L.survive(failed)
		return L.Push(value.False) + L.Push(v)
	}
	return L.Push(value.True) + L.PushAll(results)
}

// resume runs a coroutine with the arguments from one on, or says why it can't.
func (L *Thread) resume(c *coroutine, from int) (results []value.Value, problem string, failed *Raised) {
	all := &L.run.coroutines
	if status := all.status(c); status == "dead" {
		return nil, "cannot resume dead coroutine", nil
	} else if status == "running" {
		return nil, "cannot resume running coroutine", nil
	} else if status != "suspended" {
		return nil, "cannot resume non-suspended coroutine", nil
	}
	L.Charge(20 + L.Top()/SlotsPerStep)
	results, failed = all.run(c, L.argumentsFrom(from))
	return results, "", failed
}

func coroutineWrap(L *Thread) int {
	c := newCoroutine(L)
	return L.Push(NewFunction(func(L *Thread) int {
		results, problem, failed := L.resume(c, 1)
		switch {
		case problem != "":
			L.Fail("%s", problem)
		case failed == nil:
			return L.PushAll(results)
		}
		v := L.survive(failed)
		if v.IsString() {
			p, _ := L.placeAt(1)
			v = value.String(p.where() + v.Text())
		}
		L.Raise(v)
		return 0
	}))
}

func coroutineYield(L *Thread) int {
	c := L.run.coroutines.current
	if c == nil {
		L.Raise(value.String("attempt to yield across metamethod/C-call boundary"))
	}
	c.passed = L.argumentsFrom(1)
	L.Charge(20 + len(c.passed)/SlotsPerStep)
	if !c.yield(struct{}{}) { // the run is over
		L.End(BudgetError)
	}
	return L.PushAll(c.passed)
}

func (all *coroutines) status(c *coroutine) string {
	if c.finished {
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

func coroutineStatus(L *Thread) int {
	return L.PushString(L.run.coroutines.status(L.checkCoroutine(1)))
}

func coroutineRunning(L *Thread) int {
	if c := L.run.coroutines.current; c != nil {
		return L.Push(c.value())
	}
	return L.Push(value.Nil)
}
