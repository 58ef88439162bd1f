package interpreter

import (
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

func (c *compiler) statement(s syntax.Stmt) exec {
	switch s := s.(type) {
	case *syntax.Declare:
		return c.locals(s)
	case *syntax.Assign:
		return c.assign(s)
	case *syntax.SetGlobal:
		v := c.operand(s.Value)
		return func(fr *frame) signal {
			v.get(fr)
			fr.at = s.Node
			fr.L.Fail(readOnlyText)
			return normal
		}
	case *syntax.Perform:
		call := s.Call.(*syntax.Call)
		if c.isDirect(call) {
			direct := c.direct(call, true)
			return func(fr *frame) signal {
				direct(fr)
				return normal
			}
		}
		prepare := c.prepare(call)
		return func(fr *frame) signal {
			mark := len(fr.L.stack)
			f := prepare(fr)
			fr.L.call(f, mark)
			fr.L.stack = fr.L.stack[:mark]
			return normal
		}
	case *syntax.Block:
		body := c.block(s.Body)
		return func(fr *frame) signal { return fr.run(body) }
	case *syntax.While:
		return c.while(s)
	case *syntax.Repeat:
		return c.repeat(s)
	case *syntax.If:
		return c.branch(s)
	case *syntax.NumericFor:
		return c.numericFor(s)
	case *syntax.GenericFor:
		return c.genericFor(s)
	case *syntax.Return:
		return c.returns(s)
	case *syntax.Charge:
		return func(fr *frame) signal {
			fr.L.Charge(s.Steps)
			return normal
		}
	}
	return func(*frame) signal { return broken } // syntax.Break
}

// locals declares locals with their first values. One that is always a builtin, as in "local call = redis.call", is
// compiled like the builtin itself.
func (c *compiler) locals(s *syntax.Declare) exec {
	for i, local := range s.Locals[:min(len(s.Locals), len(s.Values))] {
		if name := c.builtin(s.Values[i]); name != "" && !local.Changed {
			c.aliases[local] = name
		}
	}
	if len(s.Locals) == 1 && len(s.Values) == 1 {
		local := s.Locals[0]
		if local.Changed && local.Captured { // its own function may refer to it
			c.declare(local)
			v := c.operand(s.Values[0])
			return func(fr *frame) signal {
				fr.declare(local, value.Nil)
				box := boxOf(fr.locals[local.Slot])
				*box = v.get(fr)
				return normal
			}
		}
		v := c.operand(s.Values[0])
		c.declare(local)
		if !local.Captured {
			return c.assignLocal(local, v)
		}
		return func(fr *frame) signal {
			fr.declare(local, v.get(fr))
			return normal
		}
	}
	push := c.list(s.Values)
	c.declare(s.Locals...)
	return func(fr *frame) signal {
		L := fr.L
		mark := len(L.stack)
		push(fr)
		fr.declareAll(s.Locals, L.stack[mark:])
		L.stack = L.stack[:mark]
		return normal
	}
}

func (c *compiler) assign(s *syntax.Assign) exec {
	target, is := s.Target.(*syntax.Index)
	if !is {
		return c.assignLocal(s.Target.(*syntax.Variable).Local, c.operand(s.Value))
	}
	object, key, v := c.operand(target.Object), c.operand(target.Key), c.operand(s.Value)
	objectMayChange, keyMayChange := c.mayChange(target.Object), c.mayChange(target.Key) // until the value is computed
	return func(fr *frame) signal {
		o := object.get(fr)
		k := key.get(fr)
		x := v.get(fr)
		if objectMayChange {
			o = object.get(fr)
		}
		if keyMayChange {
			k = key.get(fr)
		}
		fr.at = target.Node
		fr.L.setIndex(o, k, x, s.IsPlain)
		return normal
	}
}

func (c *compiler) assignLocal(local *syntax.Local, v operand) exec {
	slot := local.Slot
	switch {
	case !c.own[local]:
		at := c.box(local)
		return func(fr *frame) signal {
			x := v.get(fr)
			*fr.function.boxes[at] = x
			return normal
		}
	case local.Captured:
		return func(fr *frame) signal {
			x := v.get(fr)
			*boxOf(fr.locals[slot]) = x
			return normal
		}
	}
	return func(fr *frame) signal {
		fr.locals[slot] = v.get(fr)
		return normal
	}
}

func (c *compiler) branch(s *syntax.If) exec {
	is, then, otherwise := c.condition(s.Condition), c.block(s.Then), c.block(s.Else)
	return func(fr *frame) signal {
		if is(fr) {
			return fr.run(then)
		}
		return fr.run(otherwise)
	}
}

// round runs the body of a loop once. It reports whether that ends the loop, and how the statements after the loop go on.
func (fr *frame) round(body []exec) (ends bool, after signal) {
	if after = fr.run(body); after == broken {
		return true, normal
	}
	return after != normal, after
}

func (c *compiler) while(s *syntax.While) exec {
	is, body := c.condition(s.Condition), c.block(s.Body)
	return func(fr *frame) signal {
		for is(fr) {
			if ends, after := fr.round(body); ends {
				return after
			}
		}
		return normal
	}
}

func (c *compiler) repeat(s *syntax.Repeat) exec {
	body := c.block(s.Body)
	is := c.condition(s.Condition)
	return func(fr *frame) signal {
		for {
			if ends, after := fr.round(body); ends {
				return after
			}
			if is(fr) {
				return normal
			}
		}
	}
}

func (c *compiler) numericFor(s *syntax.NumericFor) exec {
	first, limit := c.operand(s.First), c.operand(s.Limit)
	var step operand
	if s.Step != nil {
		step = c.operand(s.Step)
	} else {
		step = c.constant(value.Number(1))
	}
	c.declare(s.Variable)
	body := c.block(s.Body)
	return func(fr *frame) signal {
		a, b, c := first.get(fr), limit.get(fr), step.get(fr)
		fr.at = s.Node
		x, limit, step := fr.bound(a, "initial value"), fr.bound(b, "limit"), fr.bound(c, "step")
		for x -= step; ; {
			x += step
			if !(step > 0 && x <= limit || step <= 0 && x >= limit) {
				return normal
			}
			fr.declare(s.Variable, value.Number(x))
			if ends, after := fr.round(body); ends {
				return after
			}
		}
	}
}

func (fr *frame) bound(v value.Value, what string) float64 {
	x, ok := fr.L.AsNumber(v)
	if !ok {
		fr.L.Fail("'for' %s must be a number", what)
	}
	return x
}

func (c *compiler) genericFor(s *syntax.GenericFor) exec {
	push := c.list(s.Values)
	c.declare(s.Locals...)
	body := c.block(s.Body)
	return func(fr *frame) signal {
		L := fr.L
		mark := len(L.stack)
		n := push(fr)
		for ; n < 3; n++ {
			L.stack = append(L.stack, value.Nil)
		}
		f, state, control := L.stack[mark], L.stack[mark+1], L.stack[mark+2]
		L.stack = L.stack[:mark]
		for {
			L.stack = append(L.stack, state, control)
			fr.at = s.Node
			L.call(f, mark)
			results := L.stack[mark:]
			L.stack = L.stack[:mark]
			if len(results) == 0 || results[0].IsNil() {
				return normal
			}
			control = results[0]
			fr.declareAll(s.Locals, results)
			if ends, after := fr.round(body); ends {
				return after
			}
		}
	}
}

func (c *compiler) returns(s *syntax.Return) exec {
	if len(s.Values) == 1 {
		if !hasMany(s.Values[0]) || c.isDirect(s.Values[0]) {
			v := c.operand(s.Values[0])
			return func(fr *frame) signal {
				fr.L.Push(v.get(fr))
				fr.results = 1
				return returned
			}
		}
		if call, is := s.Values[0].(*syntax.Call); is {
			return c.tailCall(call)
		}
	}
	push := c.list(s.Values)
	return func(fr *frame) signal {
		fr.results = push(fr)
		return returned
	}
}

// tailCall is a call in whose place the frame ends.
func (c *compiler) tailCall(e *syntax.Call) exec {
	prepare := c.prepare(e)
	return func(fr *frame) signal {
		L := fr.L
		mark := len(L.stack)
		f := prepare(fr)
		fn := AsFunction(f)
		if fn == nil {
			fn = L.callable(f, mark)
		}
		if fn.proto != nil {
			fr.function, fr.results = fn, mark
			return tail
		}
		fr.results = L.callGo(fn, mark)
		return returned
	}
}
