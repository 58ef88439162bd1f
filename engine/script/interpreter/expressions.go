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
	object, key := c.pair(e.Object, e.Key)
	of, isArguments := e.Object.(*syntax.Arguments)
	if at, is := e.Key.(*syntax.Constant); isArguments && is && at.Value.IsNumber() {
		i, isArgv := int(at.Value.Float()), of.IsArgv
		if float64(i) == at.Value.Float() && i >= 1 && i < value.MaxIndex {
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
			return fr.L.Index(o, k)
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
		return fr.L.index(o, k, true)
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
		return fr.L.arithmetic(minus, v, v)
	}
}

func (c *compiler) binary(e *syntax.Binary) eval {
	op := operations[e.Op]
	if op == nil {
		is := c.comparison(e)
		return func(fr *frame) value.Value { return value.Bool(is(fr)) }
	}
	a, b := c.pair(e.Left, e.Right)
	if syntax.IsNumeral(e) { // its zero keeps the sign, as that of a numeral does
		return func(fr *frame) value.Value {
			return value.Number(op.operate(fr.L, a.get(fr).Float(), b.get(fr).Float()))
		}
	}
	n := &arithmetic{a, b, op, e.Op[0], e.Node}
	return func(fr *frame) value.Value {
		x, y := n.a.get(fr), n.b.get(fr)
		if !x.IsNumber() || !y.IsNumber() {
			fr.at = n.node
			return fr.L.arithmetic(n.op, x, y)
		}
		p, q := x.Float(), y.Float()
		switch n.sign {
		case '+':
			return value.Result(p + q)
		case '-':
			return value.Result(p - q)
		case '*':
			return value.Result(float64(p * q))
		case '/':
			return value.Result(p / q)
		}
		return value.Result(n.op.operate(fr.L, p, q))
	}
}

// arithmetic is what the closure of an operator needs, in one place that is found again after each operand.
type arithmetic struct {
	a, b operand
	op   *operation
	sign byte
	node int
}

// pair returns the operands of an operator, which reads the left one first. Lua does not copy a local for an operator:
// in x + f(), it reads x only when it adds, after f was called and may have changed x. Such a left operand is read when
// the right one was computed, which waits on the stack.
func (c *compiler) pair(left, right syntax.Expr) (operand, operand) {
	a, b := c.operand(left), c.operand(right)
	if b.compute == nil || !c.mayChange(left) {
		return a, b
	}
	late := func(fr *frame) value.Value {
		fr.L.Push(b.compute(fr))
		return a.compute(fr)
	}
	waiting := func(fr *frame) value.Value {
		L := fr.L
		last := len(L.stack) - 1
		v := L.stack[last]
		L.stack = L.stack[:last]
		return v
	}
	return operand{compute: late}, operand{compute: waiting}
}

// mayChange reports whether an expression is a local of this function that a function inside may change.
func (c *compiler) mayChange(e syntax.Expr) bool {
	v, is := e.(*syntax.Variable)
	return is && c.own[v.Local] && v.Local.Captured && v.Local.Changed
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
	a, b := c.pair(e.Left, e.Right)
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
	}
	event, isReverse := "__lt", e.Op[0] == '>'
	if len(e.Op) > 1 {
		event = "__le"
	}
	orEqual := event == "__le"
	return func(fr *frame) bool {
		x, y := a.get(fr), b.get(fr)
		if isReverse {
			x, y = y, x
		}
		if x.IsNumber() && y.IsNumber() {
			return x.Float() < y.Float() || orEqual && x.Float() == y.Float()
		}
		return fr.order(e, x, y, event)
	}
}

// order compares values that are not two numbers.
func (fr *frame) order(e *syntax.Binary, a, b value.Value, event string) bool {
	fr.at = e.Node
	if e.IsPlain { // one is a number
		fr.L.failNative(compareText(a, b))
	}
	return fr.L.ordered(a, b, event)
}

// itemsPerFlush is how many items of a constructor Lua puts into the table together.
const itemsPerFlush = 50

// pair is a field of a constructor whose key is computed.
type pair struct {
	node  int
	items int // that are in the table before it; later ones replace it if they have its key
}

// table makes what a constructor says. Everything is computed in the order of the source. Pairs wait on the stack until
// the items are in the table, so that a pair has the same price wherever it stands.
func (c *compiler) table(e *syntax.Table) eval {
	var steps []func(fr *frame, t *value.Table)
	var many evals // the last item, if it may have several values
	var pairs []pair
	items, fields := 0, 0
	for i := range e.Fields {
		f := &e.Fields[i]
		switch {
		case f.IsPlain:
			fields++
			name, v := f.Key.(*syntax.Constant).Value.Text(), c.operand(f.Value)
			steps = append(steps, func(fr *frame, t *value.Table) { t.SetString(name, v.get(fr)) })
		case f.Key != nil:
			pairs = append(pairs, pair{f.Node, items - items%itemsPerFlush})
			steps = append(steps, c.pushPair(f))
		case hasMany(f.Value):
			many = c.list([]syntax.Expr{f.Value})
		default:
			items++
			at, v := items, c.operand(f.Value)
			steps = append(steps, func(fr *frame, t *value.Table) { t.SetInt(at, v.get(fr)) })
		}
	}
	price := 0
	if many != nil || items > itemsPerFlush {
		price = items/SlotsPerStep + 2*(items/itemsPerFlush+1)
	}
	return func(fr *frame) value.Value {
		L := fr.L
		t := L.NewTable(items, fields)
		for _, step := range steps {
			step(fr, t)
		}
		all := items
		if many != nil {
			all += fr.setItems(t, items, many)
		}
		L.Charge(price)
		if len(pairs) > 0 {
			fr.setPairs(t, pairs, all)
		}
		return value.OfTable(t)
	}
}

// pushPair leaves a key and its value on the stack.
func (c *compiler) pushPair(f *syntax.Field) func(fr *frame, t *value.Table) {
	key, v := c.pair(f.Key, f.Value)
	return func(fr *frame, _ *value.Table) {
		k, x := key.get(fr), v.get(fr)
		fr.at = f.Node
		fr.L.checkKey(k)
		fr.L.stack = append(fr.L.stack, k, x)
	}
}

// setItems puts the last items of a constructor into its table, and returns their number.
func (fr *frame) setItems(t *value.Table, start int, push evals) int {
	L := fr.L
	mark := len(L.stack)
	n := push(fr)
	L.Charge(n / SlotsPerStep)
	last := n
	for last > 0 && L.stack[mark+last-1].IsNil() {
		last--
	}
	t.SetItems(start, L.stack[mark:mark+last])
	L.stack = L.stack[:mark]
	return n
}

// setPairs puts the pairs of a constructor into its table, which has a number of items.
func (fr *frame) setPairs(t *value.Table, pairs []pair, items int) {
	L := fr.L
	mark := len(L.stack) - 2*len(pairs)
	for i, p := range pairs {
		key, v := L.stack[mark+2*i], L.stack[mark+2*i+1]
		if key.IsNumber() {
			if x := key.Float(); x > float64(p.items) && x <= float64(items) && value.IsWhole(x) {
				continue
			}
		}
		L.Set(t, key, v)
	}
	L.stack = L.stack[:mark]
}
