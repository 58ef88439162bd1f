package interpreter

import (
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// prepare pushes the arguments of a call, and returns what it calls.
type prepare func(fr *frame) value.Value

func (c *compiler) prepare(e *syntax.Call) prepare {
	push := c.list(e.Args)
	if e.Method != "" {
		object, name := c.operand(e.Func), value.String(e.Method)
		return func(fr *frame) value.Value {
			o := object.get(fr)
			fr.at = e.Node
			f := fr.L.index(o, name, true)
			fr.L.stack = append(fr.L.stack, o)
			push(fr)
			fr.at = e.Node
			return f
		}
	}
	f := c.operand(e.Func)
	return func(fr *frame) value.Value {
		callee := f.get(fr)
		push(fr)
		fr.at = e.Node
		return callee
	}
}

// call is a call for its first result.
func (c *compiler) call(e *syntax.Call) eval {
	if c.isDirect(e) {
		return c.direct(e, false)
	}
	prepare := c.prepare(e)
	return func(fr *frame) value.Value {
		mark := len(fr.L.stack)
		f := prepare(fr)
		return fr.L.call1(f, mark)
	}
}

// list pushes the values of a list, of which the last may have several.
func (c *compiler) list(list []syntax.Expr) evals {
	if len(list) == 0 {
		return func(*frame) int { return 0 }
	}
	before, last := c.operands(list[:len(list)-1]), list[len(list)-1]
	var many evals
	var one operand
	if hasMany(last) && !c.isDirect(last) {
		many = c.many(last)
	} else {
		one = c.operand(last)
	}
	return func(fr *frame) int {
		L := fr.L
		for i := range before {
			v := before[i].get(fr)
			L.stack = append(L.stack, v)
		}
		if many != nil {
			return len(before) + many(fr)
		}
		v := one.get(fr)
		L.stack = append(L.stack, v)
		return len(before) + 1
	}
}

// hasMany reports whether an expression may have several values.
func hasMany(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Call:
		return !e.IsSingle
	case *syntax.Varargs:
		return !e.IsSingle
	case *syntax.Counted:
		return true
	}
	return false
}

// many pushes all values of an expression that may have several, and is no direct call.
func (c *compiler) many(e syntax.Expr) evals {
	switch e := e.(type) {
	case *syntax.Counted:
		of := c.list([]syntax.Expr{e.Of})
		return func(fr *frame) int {
			n := of(fr)
			fr.L.Charge(n / SlotsPerStep)
			return n
		}
	case *syntax.Varargs:
		if e.None {
			return func(*frame) int { return 0 }
		}
		return func(fr *frame) int {
			fr.L.Charge(len(fr.varargs) / SlotsPerStep)
			return fr.L.PushAll(fr.varargs)
		}
	}
	prepare := c.prepare(e.(*syntax.Call))
	return func(fr *frame) int {
		mark := len(fr.L.stack)
		f := prepare(fr)
		return fr.L.call(f, mark)
	}
}
