package library

import (
	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// baseFunctions are the globals that need nothing of the interpreter but values.
var baseFunctions = map[string]interpreter.GoFunction{
	"assert":       assert,
	"ipairs":       ipairs,
	"rawequal":     func(L *interpreter.Thread) int { return L.PushBool(rawEqual(L)) },
	"rawget":       rawGet,
	"rawset":       rawSet,
	"select":       selectValues,
	"setmetatable": setMetatable,
	"tonumber":     toNumber,
	"tostring":     toString,
	"type":         func(L *interpreter.Thread) int { return L.PushString(L.CheckAny(1).Kind().String()) },
	"unpack":       unpack,
}

var baseUnaries = map[string]interpreter.Unary{"tonumber": unaryToNumber, "tostring": unaryToString}

func assert(L *interpreter.Thread) int {
	if !L.CheckAny(1).IsTrue() {
		L.Fail("%s", L.OptString(2, "assertion failed!"))
	}
	return L.Top()
}

func setMetatable(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	meta := L.Get(2)
	L.Check(meta.Table() != nil || L.Top() >= 2 && meta.IsNil(), 2, "nil or table expected")
	if !interpreter.Metamethod(L.Get(1), "__metatable").IsNil() {
		L.Fail("cannot change a protected metatable")
	}
	L.CheckWritable(t)
	t.Meta = meta.Table()
	L.SetTop(1)
	return 1
}

func rawEqual(L *interpreter.Thread) bool {
	a, b := L.CheckAny(1), L.CheckAny(2)
	if a.IsString() {
		return L.Equal(a, b)
	}
	return a.Equal(b)
}

func rawGet(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	key := L.CheckAny(2)
	if key.IsString() {
		L.ChargeBytes(len(key.Text()))
	}
	return L.Push(t.Shown().Get(key))
}

func rawSet(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	key, v := L.CheckAny(2), L.CheckAny(3)
	L.CheckWritable(t)
	L.Set(t, key, v)
	L.SetTop(1)
	return 1
}

func selectValues(L *interpreter.Thread) int {
	n := L.Top()
	if L.Get(1).Equal(value.String("#")) {
		return L.PushInt(n - 1)
	}
	i := L.CheckInt(1)
	if i < 0 {
		i = n + i
	} else if i > n {
		i = n
	}
	L.Check(i >= 1, 1, "index out of range")
	return n - i
}

func toNumber(L *interpreter.Thread) int {
	base := L.OptInt(2, 10)
	L.CheckAny(1)
	if base == 10 {
		v, _ := unaryToNumber(L, L.Get(1))
		return L.Push(v)
	}
	text := L.CheckString(1)
	L.Check(base >= 2 && base <= 36, 2, "base out of range")
	if x, ok := ctext.ReadInteger(text, base); ok {
		return L.PushNumber(x)
	}
	return L.Push(value.Nil)
}

func toString(L *interpreter.Thread) int {
	v := L.CheckAny(1)
	if text, done := unaryToString(L, v); done {
		return L.Push(text)
	}
	if f := interpreter.Metamethod(v, "__tostring"); !f.IsNil() {
		result := L.Call(f, v)
		if text, is := value.AsText(result); is {
			L.ChargeBytes(len(text))
		}
		return L.Push(result)
	}
	return L.PushString(L.Name(v))
}

func unpack(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	first := L.OptInt(2, 1)
	last := t.Len()
	if !L.Absent(3) {
		last = L.CheckInt(3)
	}
	if first > last {
		return 0
	}
	if n := last - first + 1; n <= 0 || n > interpreter.MaxUnpacked {
		L.Fail("too many results to unpack")
	}
	L.Charge((last - first) / interpreter.SlotsPerStep)
	for i := first; i <= last; i++ {
		L.Push(t.Get(value.Int(i)))
	}
	return last - first + 1
}

func unaryToNumber(L *interpreter.Thread, v value.Value) (value.Value, bool) {
	if v.IsNumber() {
		return value.Result(v.Float()), true
	}
	if !v.IsString() {
		return value.Nil, false
	}
	x, ok := L.ParseNumber(v.Text())
	if !ok {
		return value.Nil, true
	}
	return value.Result(x), true
}

func unaryToString(L *interpreter.Thread, v value.Value) (value.Value, bool) {
	switch {
	case v.IsNumber():
		return L.NumberText(v.Float()), true
	case v.IsString():
		L.ChargeBytes(len(v.Text()))
		return v, true
	}
	return value.Nil, false
}

// ipairsNext is the iterator of ipairs, the same for all.
var ipairsNext = interpreter.NewFunction(nextItem)

// ipairs returns the shared iterator over an array.
func ipairs(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	return L.Push(ipairsNext) + L.Push(value.OfTable(t)) + L.Push(value.Int(0))
}

func nextItem(L *interpreter.Thread) int {
	t := L.CheckTable(1)
	i := L.CheckInt(2) + 1
	v := t.Get(value.Int(i))
	if v.IsNil() {
		return L.Push(value.Nil)
	}
	return L.Push(value.Int(i)) + L.Push(v)
}
