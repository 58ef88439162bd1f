package interpreter

import (
	"unsafe"

	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

func (c *compiler) expression(e syntax.Expr) eval {
	switch e := e.(type) {
	case *syntax.Variable:
		return c.variable(e.Local)
	case *syntax.Arguments:
		return func(fr *frame) value.Value { return fr.L.arguments(e.IsArgv) }
	case *syntax.Missing:
		return func(fr *frame) value.Value {
			fr.at = e.Node
			fr.L.missingGlobal(e.Name)
			return value.Nil
		}
	case *syntax.Index:
		return c.index(e)
	case *syntax.Call:
		return c.call(e)
	case *syntax.Varargs:
		if e.None {
			return func(*frame) value.Value { return value.Nil }
		}
		return func(fr *frame) (first value.Value) {
			if fr.L.Charge(len(fr.varargs) / SlotsPerStep); len(fr.varargs) > 0 {
				first = fr.varargs[0]
			}
			return first
		}
	case *syntax.Function:
		return c.closure(e)
	case *syntax.Table:
		return c.table(e)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		return c.binary(e)
	case *syntax.Logical:
		left, right := c.operand(e.Left), c.operand(e.Right)
		return func(fr *frame) value.Value {
			if v := left.get(fr); v.IsTrue() != e.IsAnd {
				return v
			}
			return right.get(fr)
		}
	case *syntax.Concat:
		parts := c.operands(e.Parts)
		return func(fr *frame) value.Value {
			L := fr.L
			mark := len(L.stack)
			for i := range parts {
				v := parts[i].get(fr)
				L.stack = append(L.stack, v)
			}
			fr.at = e.Node
			return L.concat(mark)
		}
	}
	o := c.operand(e)
	return func(fr *frame) value.Value { return o.get(fr) }
}

// variable reads a local.
func (c *compiler) variable(local *syntax.Local) eval {
	slot := local.Slot
	switch {
	case !c.own[local]:
		at := c.box(local)
		return func(fr *frame) value.Value { return *fr.function.boxes[at] }
	case local.Captured:
		return func(fr *frame) value.Value { return *boxOf(fr.locals[slot]) }
	}
	return func(fr *frame) value.Value { return fr.locals[slot] }
}

// boxed puts a value into a box, which several functions share.
func boxed(v value.Value) value.Value {
	return value.Reference(value.UserdataKind, unsafe.Pointer(&v))
}

func boxOf(v value.Value) *value.Value { return (*value.Value)(v.Object()) }

func (c *compiler) index(e *syntax.Index) eval {
	object, key := c.operand(e.Object), c.operand(e.Key)
	if of, is := e.Object.(*syntax.Arguments); is && key.constant.IsNumber() {
		i, isArgv := int(key.constant.Float()), of.IsArgv
		if float64(i) == key.constant.Float() && i >= 1 && i < value.MaxIndex {
			return func(fr *frame) value.Value {
				fr.at = e.Node
				return fr.L.argument(isArgv, i)
			}
		}
	}
	if e.Charged {
		return func(fr *frame) value.Value {
			o, k := object.get(fr), key.get(fr)
			fr.at = e.Node
			return fr.L.index(o, k)
		}
	}
	return func(fr *frame) value.Value {
		o, k := object.get(fr), key.get(fr)
		if t := o.Table(); t != nil {
			if v := t.Get(k); !v.IsNil() || t.Meta == nil {
				return v
			}
		}
		fr.at = e.Node
		return fr.L.indexPlain(o, k)
	}
}

// closure makes a function with the boxes of the locals around it.
func (c *compiler) closure(e *syntax.Function) eval {
	inner := compiler{chunk: c.chunk, outer: c, aliases: c.aliases}
	p := inner.function(e)
	if len(p.captures) == 0 {
		return func(*frame) value.Value { return OfFunction(&Function{proto: p}) }
	}
	return func(fr *frame) value.Value {
		f := &Function{proto: p, boxes: make([]*value.Value, len(p.captures))}
		for i, from := range p.captures {
			if from.isOuter {
				f.boxes[i] = fr.function.boxes[from.at]
			} else {
				f.boxes[i] = boxOf(fr.locals[from.at])
			}
		}
		return OfFunction(f)
	}
}

func (c *compiler) unary(e *syntax.Unary) eval {
	of := c.operand(e.Of)
	switch e.Op {
	case "not":
		return func(fr *frame) value.Value { return value.Bool(!of.get(fr).IsTrue()) }
	case "#":
		return func(fr *frame) value.Value {
			v := of.get(fr)
			fr.at = e.Node
			return fr.L.length(v)
		}
	}
	return func(fr *frame) value.Value {
		v := of.get(fr)
		if v.IsNumber() {
			return value.Number(-v.Float()) // zero gets a sign only here
		}
		fr.at = e.Node
		return fr.L.minus(v)
	}
}

func (c *compiler) binary(e *syntax.Binary) eval {
	op := operations[e.Op]
	if op == nil {
		is := c.comparison(e)
		return func(fr *frame) value.Value { return value.Bool(is(fr)) }
	}
	a, b := c.operand(e.Left), c.operand(e.Right)
	if isNumeral(e) { // its zero keeps the sign, as that of a numeral does
		return func(fr *frame) value.Value {
			return value.Number(op.operate(a.get(fr).Float(), b.get(fr).Float()))
		}
	}
	if op.isPlain && b.compute != nil && c.mayChange(e.Left) {
		return func(fr *frame) value.Value {
			y := b.get(fr)
			x := a.get(fr)
			fr.at = e.Node
			return fr.L.arithmetic(op, x, y)
		}
	}
	return computed(e, op, a, b)
}

// computed is an arithmetic operator on operands that are read from left to right.
func computed(e *syntax.Binary, op *operation, a, b operand) eval {
	slow := func(fr *frame, x, y value.Value) value.Value {
		fr.at = e.Node
		return fr.L.arithmetic(op, x, y)
	}
	switch e.Op {
	case "+":
		return func(fr *frame) value.Value {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return value.Result(x.Float() + y.Float())
			}
			return slow(fr, x, y)
		}
	case "-":
		return func(fr *frame) value.Value {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return value.Result(x.Float() - y.Float())
			}
			return slow(fr, x, y)
		}
	case "*":
		return func(fr *frame) value.Value {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return value.Result(float64(x.Float() * y.Float()))
			}
			return slow(fr, x, y)
		}
	case "/":
		return func(fr *frame) value.Value {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return value.Result(x.Float() / y.Float())
			}
			return slow(fr, x, y)
		}
	}
	return func(fr *frame) value.Value {
		x, y := a.get(fr), b.get(fr)
		if x.IsNumber() && y.IsNumber() {
			return value.Result(op.operate(x.Float(), y.Float()))
		}
		return slow(fr, x, y)
	}
}

// mayChange reports whether an expression is a local of this function that a function inside may change. In x + f(), Lua
// reads such an x only when it adds, after the call of f.
func (c *compiler) mayChange(e syntax.Expr) bool {
	v, is := e.(*syntax.Variable)
	return is && c.own[v.Local] && v.Local.Captured && v.Local.Changed
}

// isNumeral reports whether an expression is made of numbers in the source alone.
func isNumeral(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Constant:
		return e.Kind == syntax.NumberConstant
	case *syntax.Unary:
		return e.Op == "-" && isNumeral(e.Of)
	case *syntax.Binary:
		return operations[e.Op] != nil && isNumeral(e.Left) && isNumeral(e.Right)
	}
	return false
}

// condition computes an expression that is used as a condition.
func (c *compiler) condition(e syntax.Expr) test {
	switch e := e.(type) {
	case *syntax.Unary:
		if e.Op == "not" {
			of := c.condition(e.Of)
			return func(fr *frame) bool { return !of(fr) }
		}
	case *syntax.Logical:
		left, right := c.condition(e.Left), c.condition(e.Right)
		if e.IsAnd {
			return func(fr *frame) bool { return left(fr) && right(fr) }
		}
		return func(fr *frame) bool { return left(fr) || right(fr) }
	case *syntax.Binary:
		if operations[e.Op] == nil {
			return c.comparison(e)
		}
	}
	o := c.operand(e)
	return func(fr *frame) bool { return o.get(fr).IsTrue() }
}

func (c *compiler) comparison(e *syntax.Binary) test {
	a, b := c.operand(e.Left), c.operand(e.Right)
	switch e.Op {
	case "==", "~=":
		wanted := e.Op == "=="
		if e.IsPlain {
			return func(fr *frame) bool {
				x, y := a.get(fr), b.get(fr)
				return x.Equal(y) == wanted
			}
		}
		return func(fr *frame) bool {
			x, y := a.get(fr), b.get(fr)
			fr.at = e.Node
			return fr.L.Equal(x, y) == wanted
		}
	case "<":
		return func(fr *frame) bool {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return x.Float() < y.Float()
			}
			return fr.order(e, x, y, "__lt")
		}
	case ">":
		return func(fr *frame) bool {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return x.Float() > y.Float()
			}
			return fr.order(e, y, x, "__lt")
		}
	case "<=":
		return func(fr *frame) bool {
			x, y := a.get(fr), b.get(fr)
			if x.IsNumber() && y.IsNumber() {
				return x.Float() <= y.Float()
			}
			return fr.order(e, x, y, "__le")
		}
	}
	return func(fr *frame) bool {
		x, y := a.get(fr), b.get(fr)
		if x.IsNumber() && y.IsNumber() {
			return x.Float() >= y.Float()
		}
		return fr.order(e, y, x, "__le")
	}
}

// order compares values that are not two numbers.
func (fr *frame) order(e *syntax.Binary, a, b value.Value, event string) bool {
	fr.at = e.Node
	if e.IsPlain { // one is a number
		fr.L.failNative(CompareText(a, b))
	}
	return fr.L.ordered(a, b, event)
}

// table makes what a constructor says.
func (c *compiler) table(e *syntax.Table) eval {
	items, fields := 0, 0
	var steps []func(fr *frame, t *value.Table)
	for _, f := range e.Fields {
		v := c.operand(f.Value)
		if f.Key != nil {
			fields++
			name := f.Key.Text
			steps = append(steps, func(fr *frame, t *value.Table) { t.SetString(name, v.get(fr)) })
			continue
		}
		items++
		i := items
		steps = append(steps, func(fr *frame, t *value.Table) { t.SetInt(i, v.get(fr)) })
	}
	for _, rest := range e.Rest {
		push := c.list(rest.Values)
		steps = append(steps, func(fr *frame, t *value.Table) { fr.setItems(t, rest.Start, push) })
	}
	for _, pairs := range e.Pairs {
		push := c.list(pairs)
		steps = append(steps, func(fr *frame, t *value.Table) { fr.setFields(t, e.Node, push) })
	}
	return func(fr *frame) value.Value {
		t := fr.L.NewTable(items, fields)
		for _, step := range steps {
			step(fr, t)
		}
		return value.OfTable(t)
	}
}

// setItems puts the last items of a constructor into its table.
func (fr *frame) setItems(t *value.Table, start int, push evals) {
	L := fr.L
	mark := len(L.stack)
	n := push(fr)
	L.Charge((n + 2) / SlotsPerStep)
	for n > 0 && L.stack[mark+n-1].IsNil() {
		n--
	}
	t.SetItems(start, L.stack[mark:mark+n])
	L.stack = L.stack[:mark]
}

// setFields puts pairs of a constructor into its table. Items without a key win.
func (fr *frame) setFields(t *value.Table, node int, push evals) {
	L := fr.L
	mark := len(L.stack)
	n := push(fr)
	fr.at = node
	items := float64(t.Len())
	for i := mark; i < mark+n; i += 2 {
		key := L.stack[i]
		if key.IsNumber() && key.Float() >= 1 && key.Float() <= items && !t.Get(key).IsNil() {
			continue
		}
		L.Set(t, key, L.stack[i+1])
	}
	L.stack = L.stack[:mark]
}
