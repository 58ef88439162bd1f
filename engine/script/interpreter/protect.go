package interpreter

import "github.com/stintdb/stint/engine/script/value"

// protect calls a function, and returns the error that ended it. A panic that is no error of a script goes on.
func (L *Thread) protect(call func()) (failed *Raised) {
	depth, stack, base, locals, used := L.depth, len(L.stack), L.base, L.locals, L.used
	defer func() {
		if caught := recover(); caught != nil {
			e, is := caught.(*Raised)
			if !is {
				panic(caught)
			}
			failed = e
			L.depth, L.stack, L.base, L.locals, L.used = depth, L.stack[:stack], base, locals, used
		}
	}()
	call()
	return nil
}

func protectedCall(L *Thread) int {
	if L.Top() == 0 {
		return L.Push(value.False) + L.PushString("attempt to call a boolean value")
	}
	f := L.Get(1)
	if t := f.Table(); t != nil && Metamethod(f, "__call").IsNil() {
		return L.Push(value.False) + L.PushString("attempt to call a table value")
	}
	if failed := L.protect(func() { L.call(f, L.base+1) }); failed != nil {
		v := L.survive(failed)
		if t := v.Table(); t != nil { // Redis's pcall returns the text of an error reply
			if text, is := value.AsText(t.GetString("err")); is {
				return L.Push(value.False) + L.PushString(text)
			}
		}
		return L.Push(value.False) + L.Push(v)
	}
	L.stack[L.base] = value.True
	L.Charge(L.Top() / SlotsPerStep)
	return L.Top()
}

// survive returns the value of an error that the script handles.
func (L *Thread) survive(e *Raised) value.Value {
	r := L.run
	if e.final || r.budget < 0 {
		if r.over == "" {
			r.over = value.Display(e.value)
		}
		e.final = true
		panic(e)
	}
	L.Charge(failurePrice)
	if e.traced {
		L.Charge(tracePrice)
	}
	return e.value
}

func protectedCallWithHandler(L *Thread) int {
	f, handler := L.Get(1), L.CheckAny(2)
	L.SetTop(1)
	failed := L.protect(func() { L.call(f, L.base+1) })
	if failed == nil {
		L.stack[L.base] = value.True
		return L.Top()
	}
	v := L.survive(failed)
	L.SetTop(0)
	if failed := L.protect(func() {
		mark := len(L.stack)
		L.Push(v)
		v = L.call1(handler, mark)
	}); failed != nil {
		v = L.survive(failed)
	}
	return L.Push(value.False) + L.Push(v)
}
