package interpreter

import (
	"math"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/elementary"
	"github.com/stintdb/stint/engine/script/value"
)

// readOnlyText is the error for a change of the globals and the libraries.
const readOnlyText = "Attempt to modify a readonly table"

// Metamethod returns a field of a table's metatable. Other values have no metatables of their own.
func Metamethod(v value.Value, event string) value.Value {
	if t := v.Table(); t != nil && t.Meta != nil {
		return t.Meta.GetString(event)
	}
	return value.Nil
}

func metamethod2(a, b value.Value, event string) value.Value {
	if f := Metamethod(a, event); !f.IsNil() {
		return f
	}
	return Metamethod(b, event)
}

// callable returns the function that a call of another value calls, with the value as its first argument.
func (L *Thread) callable(f value.Value, mark int) *Function {
	fn := AsFunction(Metamethod(f, "__call"))
	switch {
	case fn != nil:
	case f.Table() == nil || L.frames[L.depth-1].function == nil:
		L.failValue(f, "call", -1)
	default:
		L.failTable("call", -1)
	}
	L.stack = append(L.stack, value.Nil)
	copy(L.stack[mark+1:], L.stack[mark:])
	L.stack[mark] = f
	return fn
}

// failTable is failNative for a table whose metatable does not have what an operation needs.
func (L *Thread) failTable(doing string, operand int) {
	p, _ := L.scriptPlace()
	L.failNative(badValueText("table", doing, p.operand(operand)))
}

// invoke calls a metamethod. With isPlain it is called like any function, and the script pays nothing beyond what the
// metamethod does. Otherwise it has a price, and two of the calls that may be nested are taken, of which only the
// metamethod's has a level in messages.
func (L *Thread) invoke(isPlain bool, f value.Value, args ...value.Value) value.Value {
	mark := len(L.stack)
	L.stack = append(L.stack, args...)
	if isPlain {
		return L.call1(f, mark)
	}
	L.Charge(InvokePrice)
	caller := L.frames[L.depth-1]
	if caller.function == nil {
		return L.call1(f, mark)
	}
	fr := L.push(caller.function)
	fr.at, fr.tailCalls = caller.at, -1
	result := L.call1(f, mark)
	L.pop()
	return result
}

// operation is an arithmetic operator.
type operation struct {
	event   string
	operate func(L *Thread, a, b float64) float64
	isPlain bool // a metamethod of a table on the left has no price of its own
}

var operations = map[string]*operation{
	"+": {"__add", func(_ *Thread, a, b float64) float64 { return a + b }, true},
	"-": {"__sub", func(_ *Thread, a, b float64) float64 { return a - b }, true},
	"*": {"__mul", func(_ *Thread, a, b float64) float64 { return float64(a * b) }, true},
	"/": {"__div", func(_ *Thread, a, b float64) float64 { return a / b }, true},
	"%": {"__mod", func(_ *Thread, a, b float64) float64 { return value.Modulo(a, b) }, false},
	"^": {"__pow", (*Thread).Power, false},
}

// minus has its operand twice.
var minus = &operation{"__unm", func(_ *Thread, a, _ float64) float64 { return -a }, true}

// ComputesAlike reports whether a script computes the same on all processors, as from dialect 2 on.
func ComputesAlike(L *Thread) bool { return L.run.Host.Dialect() > 1 }

// Power is a ^ b.
func (L *Thread) Power(a, b float64) float64 {
	if !ComputesAlike(L) {
		return value.Power(a, b, math.Pow)
	}
	return value.Power(a, b, func(a, b float64) float64 {
		L.Charge(ElementaryPrice)
		return elementary.Pow(a, b)
	})
}

// arithmetic is an operator on two values of any type.
func (L *Thread) arithmetic(op *operation, a, b value.Value) value.Value {
	isPlain := op.isPlain && a.Table() != nil
	f := value.Nil
	if a.Table() != nil || b.Table() != nil {
		f = metamethod2(a, b, op.event)
	}
	if isPlain && !f.IsNil() {
		return L.invoke(true, f, a, b)
	}
	x, ok := L.AsNumber(a)
	y, ok2 := x, ok
	if op != minus {
		y, ok2 = L.AsNumber(b)
	}
	switch {
	case ok && ok2:
		return value.Result(op.operate(L, x, y))
	case !f.IsNil():
		return L.invoke(false, f, a, b)
	case ok:
		L.failValue(b, "perform arithmetic on", 1)
	case isPlain && b.Table() != nil:
		L.failTable("perform arithmetic on", 0)
	}
	L.failValue(a, "perform arithmetic on", 0)
	return value.Nil
}

// length is #v. Tables have no metamethod for it, as in Lua 5.1.
func (L *Thread) length(v value.Value) value.Value {
	if v.IsString() {
		return value.Int(len(v.Text()))
	}
	t := v.Table()
	if t == nil {
		L.failValue(v, "get length of", 0)
	}
	return value.Int(t.Len())
}

// index is object[key]. With isPlain the key is constant or a number.
func (L *Thread) index(object, key value.Value, isPlain bool) value.Value {
	for i := range maxIndexes {
		var next value.Value
		if t := object.Table(); t != nil {
			if v := t.Get(key); !v.IsNil() || t.Meta == nil {
				return v
			}
			if next = t.Meta.GetString("__index"); next.IsNil() {
				return value.Nil
			}
		} else if object.IsString() {
			next = stringLibrary
		} else {
			L.failValue(object, "index", i) // only the first object has a name
		}
		if AsFunction(next) != nil {
			return L.invoke(isPlain, next, object, key)
		}
		object = next
	}
	L.failLoop("gettable", isPlain)
	return value.Nil
}

// failLoop raises that the chain of tables that an index goes through is too long.
func (L *Thread) failLoop(where string, isPlain bool) {
	if isPlain {
		L.failNative("loop in " + where)
	}
	L.Fail("loop in %s", where)
}

// Index is object[key], for which a text as the key is charged.
func (L *Thread) Index(object, key value.Value) value.Value {
	if key.IsString() {
		L.ChargeBytes(len(key.Text()))
	}
	return L.index(object, key, false)
}

// argument is KEYS[i] or ARGV[i].
func (L *Thread) argument(isArgv bool, i int) value.Value {
	a := L.run.argumentsOf(isArgv)
	switch {
	case a.table != nil:
		return L.index(value.OfTable(a.table), value.Int(i), true)
	case i <= len(a.texts):
		return value.OfBytes(a.texts[i-1]) // the request outlives the run
	}
	return value.Nil
}

// setIndex is object[key] = value. With isPlain the key is a text of the source, and the value is not nil.
func (L *Thread) setIndex(object, key, v value.Value, isPlain bool) {
	for i := range maxIndexes {
		t := object.Table()
		if t == nil {
			L.failValue(object, "index", i)
		}
		if t.Shows != nil {
			L.Fail(readOnlyText)
		}
		next := Metamethod(object, "__newindex")
		switch {
		case !next.IsNil() && t.Get(key).IsNil():
		case isPlain:
			t.SetString(key.Text(), v)
			return
		default:
			L.Set(t, key, v)
			return
		}
		if AsFunction(next) != nil {
			L.invoke(isPlain, next, object, key, v)
			return
		}
		object = next
	}
	L.failLoop("settable", isPlain)
}

// concat is a .. b .. c, from the right, of the values on the stack from mark on.
func (L *Thread) concat(mark int) value.Value {
	r := L.run
	values := L.stack[mark:]
	r.build = r.build[:0]
	for _, v := range values {
		switch {
		case v.IsString():
			L.ChargeBytes(len(v.Text()))
			r.build = append(r.build, v.Text()...)
		case v.IsNumber():
			r.build = ctext.AppendNumber(r.build, v.Float(), 14)
		default:
			return L.concatValues(mark, len(values))
		}
	}
	L.stack = L.stack[:mark]
	L.ChargeBytes(len(r.build))
	return L.Text(r.build)
}

func (L *Thread) concatValues(mark, n int) value.Value {
	right := L.stack[mark+n-1]
	for i := n - 1; i > 0; i-- {
		left := L.stack[mark+i-1]
		a, ok := value.AsText(left)
		b, ok2 := value.AsText(right)
		if ok && ok2 {
			L.ChargeBytes(len(a) + len(b))
			right = value.String(a + b)
			continue
		}
		f := metamethod2(left, right, "__concat")
		if f.IsNil() {
			if ok {
				L.failValue(right, "concatenate", i)
			}
			L.failValue(left, "concatenate", i-1)
		}
		right = L.invoke(false, f, left, right)
	}
	L.stack = L.stack[:mark]
	return right
}

// Less is a < b, by a metamethod for values that are not two numbers or two strings.
func (L *Thread) Less(a, b value.Value) bool {
	if a.IsNumber() && b.IsNumber() {
		return a.Float() < b.Float()
	}
	return L.ordered(a, b, "__lt")
}

// ordered compares values that are not two numbers.
func (L *Thread) ordered(a, b value.Value, event string) bool {
	if a.IsString() && b.IsString() {
		x, y := a.Text(), b.Text()
		L.ChargeBytes(min(len(x), len(y)))
		return x < y || event == "__le" && x == y
	}
	if a.Kind() == b.Kind() {
		if f := Metamethod(a, event); !f.IsNil() && f == Metamethod(b, event) {
			return L.invoke(false, f, a, b).IsTrue()
		}
		if f := Metamethod(a, "__lt"); event == "__le" && !f.IsNil() && f == Metamethod(b, "__lt") {
			return !L.invoke(false, f, b, a).IsTrue()
		}
	}
	L.failHere(compareText(a, b))
	return false
}

// Equal is a == b.
func (L *Thread) Equal(a, b value.Value) bool {
	if a.IsString() && b.IsString() {
		x, y := a.Text(), b.Text()
		if len(x) != len(y) {
			return false
		}
		L.ChargeBytes(len(x) / 4)
		return x == y
	}
	if a.Equal(b) || a.Table() == nil || b.Table() == nil {
		return a.Equal(b)
	}
	f := Metamethod(a, "__eq")
	return !f.IsNil() && f == Metamethod(b, "__eq") && L.invoke(true, f, a, b).IsTrue()
}
