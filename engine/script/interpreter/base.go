package interpreter

import (
	"fmt"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/value"
)

var baseFunctions = map[string]GoFunction{
	"assert":         assert,
	"collectgarbage": func(L *Thread) int { return L.PushInt(0) },
	"error":          raiseError,
	"gcinfo":         func(L *Thread) int { return L.PushInt(0) },
	"getmetatable":   getMetatable,
	"ipairs":         ipairs,
	"load":           load,
	"loadstring":     loadString,
	"next":           nextPair,
	"pairs":          pairs,
	"pcall":          protectedCall,
	"rawequal":       func(L *Thread) int { return L.PushBool(rawEqual(L)) },
	"rawget":         rawGet,
	"rawset":         rawSet,
	"select":         selectValues,
	"setmetatable":   setMetatable,
	"tonumber":       toNumber,
	"tostring":       toString,
	"type":           func(L *Thread) int { return L.PushString(L.checkAny(1).Kind().String()) },
	"unpack":         unpack,
	"xpcall":         protectedCallWithHandler,
}

func assert(L *Thread) int {
	if !L.checkAny(1).IsTrue() {
		L.Fail("%s", L.OptString(2, "assertion failed!"))
	}
	return L.Top()
}

func raiseError(L *Thread) int {
	level := L.OptInt(2, 1)
	v := L.Get(1)
	if text, is := AsText(v); is && level > 0 {
		p, _ := L.placeAt(level)
		v = value.String(p.where() + text)
	}
	L.Raise(v)
	return 0
}

func getMetatable(L *Thread) int {
	v := L.checkAny(1)
	t, result := v.Table(), value.Nil
	switch {
	case v.IsString(), t == globals:
		result = value.OfTable(shownStringMeta) // something that can't be changed
	case t == nil, t.Shows != nil:
	case !metamethod(v, "__metatable").IsNil():
		result = metamethod(v, "__metatable")
	case t.Meta != nil:
		result = value.OfTable(t.Meta)
	}
	L.Push(result)
	return 1
}

func setMetatable(L *Thread) int {
	t := L.CheckTable(1)
	meta := L.Get(2)
	if meta.Table() == nil && (L.Top() < 2 || !meta.IsNil()) {
		L.BadArgument(2, "nil or table expected")
	}
	if !metamethod(L.Get(1), "__metatable").IsNil() {
		L.Fail("cannot change a protected metatable")
	}
	L.CheckWritable(t)
	t.Meta = meta.Table()
	L.SetTop(1)
	return 1
}

// CheckWritable raises the error for the globals and the libraries, without a place as from C.
func (L *Thread) CheckWritable(t *value.Table) {
	if t.Shows != nil {
		L.Raise(value.String(readOnlyText))
	}
}

func nextPair(L *Thread) int {
	t := L.CheckTable(1)
	key, v := L.next(t, L.Get(2))
	L.Push(key)
	if key.IsNil() {
		return 1
	}
	L.Push(v)
	return 2
}

func rawEqual(L *Thread) bool {
	a, b := L.checkAny(1), L.checkAny(2)
	if a.IsString() {
		return L.equal(a, b)
	}
	return a.Equal(b)
}

func rawGet(L *Thread) int {
	t := L.CheckTable(1)
	key := L.checkAny(2)
	if key.IsString() {
		L.ChargeBytes(len(key.Text()))
	}
	L.Push(shown(t).Get(key))
	return 1
}

func rawSet(L *Thread) int {
	t := L.CheckTable(1)
	key, v := L.checkAny(2), L.checkAny(3)
	L.CheckWritable(t)
	L.Set(t, key, v)
	L.SetTop(1)
	return 1
}

func selectValues(L *Thread) int {
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
	if i < 1 {
		L.BadArgument(1, "index out of range")
	}
	return n - i
}

func toNumber(L *Thread) int {
	base := L.OptInt(2, 10)
	v := L.checkAny(1)
	if base == 10 {
		if x, ok := L.AsNumber(v); ok {
			return L.PushNumber(x)
		}
		L.Push(value.Nil)
		return 1
	}
	text := L.CheckString(1)
	if base < 2 || base > 36 {
		L.BadArgument(2, "base out of range")
	}
	if x, ok := ctext.ReadInteger(text, base); ok {
		return L.PushNumber(x)
	}
	L.Push(value.Nil)
	return 1
}

func toString(L *Thread) int {
	v := L.checkAny(1)
	if v.IsNumber() {
		L.run.build = ctext.AppendNumber(L.run.build[:0], v.Float(), 14)
		return L.PushText(L.run.build)
	}
	return L.PushString(L.toString(v))
}

// toString is Lua's tostring.
func (L *Thread) toString(v value.Value) string {
	if f := metamethod(v, "__tostring"); !f.IsNil() {
		text, is := AsText(L.Call(f, v))
		if !is {
			L.Fail("'tostring' must return a string to 'print'")
		}
		return text
	}
	switch v.Kind() {
	case value.NilKind, value.BoolKind, value.NumberKind, value.StringKind:
		return display(v)
	case value.UserdataKind:
		return "userdata: (nil)"
	}
	r := L.run
	if r.names == nil {
		r.names = map[value.Value]int{}
	}
	number, known := r.names[v]
	if !known {
		L.Charge(10)
		number = len(r.names) + 1
		r.names[v] = number
	}
	return fmt.Sprintf("%s: 0x%08x", v.Kind(), number)
}

func unpack(L *Thread) int {
	t := L.CheckTable(1)
	first := L.OptInt(2, 1)
	last := t.Len()
	if !L.Absent(3) {
		last = L.CheckInt(3)
	}
	if first > last {
		return 0
	}
	if n := last - first + 1; n <= 0 || n > MaxUnpacked {
		L.Fail("too many results to unpack")
	}
	L.Charge((last - first) / SlotsPerStep)
	for i := first; i <= last; i++ {
		L.Push(t.Get(value.Int(i)))
	}
	return last - first + 1
}
