package interpreter

import (
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// Bounds of a thread.
const (
	maxCalls   = 200
	maxValues  = 40_000 // of all locals
	keptValues = 256    // that are kept for the next run
)

// Run is the run that the thread belongs to.
func (L *Thread) Run() *Run { return L.run }

// push begins a call.
func (L *Thread) push(f *Function) *frame {
	if L.depth == maxCalls {
		L.failNative("stack overflow")
	}
	if L.depth == len(L.frames) {
		L.frames = append(L.frames, &frame{L: L})
	}
	fr := L.frames[L.depth]
	L.depth++
	L.deepest = max(L.deepest, L.depth)
	fr.function, fr.tailCalls = f, 0
	return fr
}

// pop ends it.
func (L *Thread) pop() { L.depth-- }

// allocate takes room for locals. A segment never moves, since frames refer to it.
func (L *Thread) allocate(n int) []value.Value {
	if L.used+n > len(L.locals) {
		if L.used+n > maxValues {
			L.failNative("stack overflow")
		}
		L.locals, L.used = make([]value.Value, max(keptValues, n, min(2*len(L.locals), maxValues))), 0
	}
	room := L.locals[L.used : L.used+n : L.used+n]
	L.used += n
	return room
}

// forget lets go of all values.
func (L *Thread) forget() {
	for _, fr := range L.frames[:L.deepest] {
		clear(fr.locals)
		clear(fr.varargs)
		*fr = frame{L: L}
	}
	L.base, L.depth, L.deepest, L.used = 0, 0, 0, 0
	if cap(L.stack) > keptValues || len(L.locals) > keptValues {
		L.stack, L.locals = nil, nil
	}
	clear(L.stack[:cap(L.stack)])
	L.stack = L.stack[:0]
}

// call calls a value with the arguments on the stack from mark on, in whose place it leaves the results. It returns their
// number.
func (L *Thread) call(f value.Value, mark int) int {
	fn := AsFunction(f)
	if fn == nil {
		fn = L.callable(f, mark)
	}
	if fn.proto != nil {
		fr := L.push(fn)
		fr.bind(mark)
		return fr.execute()
	}
	return L.callGo(fn, mark)
}

// call1 is call for the first result, which it takes from the stack.
func (L *Thread) call1(f value.Value, mark int) (result value.Value) {
	if L.call(f, mark) == 0 {
		return value.Nil
	}
	result = L.stack[mark]
	L.stack = L.stack[:mark]
	return result
}

// callGo calls a Go function.
func (L *Thread) callGo(fn *Function, mark int) int {
	L.push(nil)
	base := L.base
	L.base = mark
	n := fn.code(L)
	copy(L.stack[mark:], L.stack[len(L.stack)-n:])
	L.stack, L.base = L.stack[:mark+n], base
	L.pop()
	return n
}

// bind gives the frame's function its arguments, from mark on, which it takes from the stack.
func (fr *frame) bind(mark int) {
	L, p := fr.L, fr.function.proto
	args := L.stack[mark:]
	further := 0
	if p.isVariadic && len(args) > len(p.parameters) {
		further = len(args) - len(p.parameters)
	}
	held := p.slots + len(p.constants)
	if L.used+held+further > maxValues {
		fr.at = p.entry.Node
	}
	room := L.allocate(held + further)
	fr.locals, fr.varargs = room[:held:held], room[held:]
	copy(fr.locals[p.slots:], p.constants)
	fr.declareAll(p.parameters, args)
	if further > 0 {
		copy(fr.varargs, args[len(p.parameters):])
	}
	if p.arg != nil {
		fr.declare(p.arg, fr.argTable(p))
	}
	L.stack = L.stack[:mark]
}

// argTable is the local "arg" of a variadic function.
func (fr *frame) argTable(p *proto) value.Value {
	L := fr.L
	if p.usesDots {
		return value.Nil
	}
	t := L.NewTable(len(fr.varargs), 1)
	for i, v := range fr.varargs {
		t.SetInt(i+1, v)
	}
	t.SetString("n", value.Int(len(fr.varargs)))
	return value.OfTable(t)
}

// declare gives a new local its first value. One that functions inside refer to has a box of its own.
func (fr *frame) declare(local *syntax.Local, v value.Value) {
	if local.Captured {
		v = boxed(v)
	}
	fr.locals[local.Slot] = v
}

// declareAll gives new locals the first of some values, and nil to those for which there is none.
func (fr *frame) declareAll(locals []*syntax.Local, values []value.Value) {
	for i, local := range locals {
		v := value.Nil
		if i < len(values) {
			v = values[i]
		}
		fr.declare(local, v)
	}
}

// execute runs the frame's function, and what it calls last. It leaves the results on the stack, and returns their number.
func (fr *frame) execute() int {
	L := fr.L
	outer := L.used - len(fr.locals) - len(fr.varargs)
	segment := L.locals
	for {
		fr.results = 0
		p := fr.function.proto
		if p.entry.Steps > 0 {
			if L.depth == maxCalls {
				fr.at = p.entry.Node
				L.failNative("stack overflow")
			}
			L.Charge(p.entry.Steps)
		}
		if fr.run(p.body) != tail {
			break
		}
		L.release(segment, outer)
		mark := fr.results
		fr.tailCalls++
		fr.bind(mark)
		segment, outer = L.locals, L.used-len(fr.locals)-len(fr.varargs)
	}
	L.release(segment, outer)
	L.pop()
	return fr.results
}

// release gives back the locals of a frame.
func (L *Thread) release(segment []value.Value, used int) {
	if len(segment) == len(L.locals) {
		L.used = used
	}
}

// Get is an argument, or a value that was pushed after them; nil if there is none.
func (L *Thread) Get(i int) value.Value {
	if i = L.base + i - 1; i >= L.base && i < len(L.stack) {
		return L.stack[i]
	}
	return value.Nil
}

// Top is the number of arguments, with the values that were pushed after them.
func (L *Thread) Top() int { return len(L.stack) - L.base }

// SetTop drops all but some arguments.
func (L *Thread) SetTop(n int) { L.stack = L.stack[:L.base+n] }

// Args are the arguments.
func (L *Thread) Args() []value.Value { return L.stack[L.base:] }

// Push returns a value to the script: it gives 1, the number of results, like all that begin with Push.
func (L *Thread) Push(v value.Value) int {
	L.stack = append(L.stack, v)
	return 1
}

// PushNumber returns a number to the script.
func (L *Thread) PushNumber(x float64) int { return L.Push(value.Result(x)) }

// PushInt returns a whole number to the script.
func (L *Thread) PushInt(n int) int { return L.PushNumber(float64(n)) }

// PushString returns a text that was made for the script, and takes its price.
func (L *Thread) PushString(s string) int {
	L.ChargeBytes(len(s))
	return L.Push(value.String(s))
}

// PushText is PushString of bytes, which it copies.
func (L *Thread) PushText(b []byte) int {
	L.ChargeBytes(len(b))
	return L.Push(L.Text(b))
}

// PushBool returns true or false to the script.
func (L *Thread) PushBool(b bool) int { return L.Push(value.Bool(b)) }

// PushAll returns several values to the script, and gives their number.
func (L *Thread) PushAll(list []value.Value) int {
	L.stack = append(L.stack, list...)
	return len(list)
}

// Call calls a value with arguments from a Go function, for a price, and returns its first result.
func (L *Thread) Call(f value.Value, args ...value.Value) value.Value {
	return L.invoke(false, f, args...)
}

// CallPushed calls a value with the arguments that a function pushes, and returns its first result. It takes no price.
func (L *Thread) CallPushed(f value.Value, push func()) value.Value {
	mark := len(L.stack)
	push()
	return L.call1(f, mark)
}
