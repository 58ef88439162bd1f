package interpreter

import (
	"fmt"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var baseFunctions = map[string]lua.LGFunction{
	"assert":         assert,
	"collectgarbage": func(L *lua.LState) int { return PushInt(L, 0) },
	"error":          raiseError,
	"gcinfo":         func(L *lua.LState) int { return PushInt(L, 0) },
	"getmetatable":   getMetatable,
	"ipairs":         ipairs,
	"load":           load,
	"loadstring":     loadString,
	"next":           nextPair,
	"pairs":          pairs,
	"pcall":          protectedCall,
	"rawequal":       func(L *lua.LState) int { return PushBool(L, rawEqual(L)) },
	"rawget":         rawGet,
	"rawset":         rawSet,
	"select":         selectValues,
	"setmetatable":   setMetatable,
	"tonumber":       toNumber,
	"tostring":       func(L *lua.LState) int { return PushString(L, Of(L).toString(L, Of(L).checkAny(L, 1))) },
	"type":           func(L *lua.LState) int { return PushString(L, TypeName(Of(L).checkAny(L, 1))) },
	"unpack":         unpack,
	"xpcall":         protectedCallWithHandler,
}

func assert(L *lua.LState) int {
	r := Of(L)
	if lua.LVIsFalse(r.checkAny(L, 1)) {
		r.Fail(L, "%s", r.OptString(L, 2, "assertion failed!"))
	}
	return L.GetTop()
}

func raiseError(L *lua.LState) int {
	r := Of(L)
	level := r.OptInt(L, 2, 1)
	value := L.Get(1)
	if text, is := AsText(value); is && level > 0 {
		value = lua.LString(r.where(L, level) + text)
	}
	r.Raise(L, value)
	return 0
}

func getMetatable(L *lua.LState) int {
	r := Of(L)
	switch v := r.checkAny(L, 1).(type) {
	case lua.LString:
		L.Push(shownStringMeta)
	case *lua.LTable:
		switch {
		case v == globals:
			L.Push(shownStringMeta) // something that can't be changed
		case readOnly[v] != nil:
			L.Push(lua.LNil)
		case metamethod(v, "__metatable") != lua.LNil:
			L.Push(metamethod(v, "__metatable"))
		default:
			L.Push(v.Metatable)
		}
	default:
		L.Push(lua.LNil)
	}
	return 1
}

func setMetatable(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	meta := L.Get(2)
	if _, is := meta.(*lua.LTable); !is && (L.GetTop() < 2 || meta != lua.LNil) {
		r.BadArgument(L, 2, "nil or table expected")
	}
	if metamethod(t, "__metatable") != lua.LNil {
		r.Fail(L, "cannot change a protected metatable")
	}
	r.CheckWritable(L, t)
	t.Metatable = meta
	L.SetTop(1)
	return 1
}

// CheckWritable raises the error for the globals and the libraries, without a place as from C.
func (r *Run) CheckWritable(L *lua.LState, t *lua.LTable) {
	if readOnly[t] != nil {
		r.Raise(L, lua.LString(readOnlyText))
	}
}

func nextPair(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	key, value := r.next(L, t, L.Get(2))
	L.Push(key)
	if key == lua.LNil {
		return 1
	}
	L.Push(value)
	return 2
}

func rawEqual(L *lua.LState) bool {
	r := Of(L)
	a, b := r.checkAny(L, 1), r.checkAny(L, 2)
	if _, is := a.(lua.LString); is {
		return equal(L, a, b)
	}
	return L.RawEqual(a, b)
}

func rawGet(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	key := r.checkAny(L, 2)
	if s, is := key.(lua.LString); is {
		r.ChargeBytes(L, len(s))
	}
	if readOnly[t] != nil {
		t = readOnly[t]
	}
	L.Push(t.RawGet(key))
	return 1
}

func rawSet(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	key, value := r.checkAny(L, 2), r.checkAny(L, 3)
	r.CheckWritable(L, t)
	r.Set(L, t, key, value)
	L.SetTop(1)
	return 1
}

func selectValues(L *lua.LState) int {
	r := Of(L)
	n := L.GetTop()
	if L.Get(1) == lua.LString("#") {
		return PushInt(L, n-1)
	}
	i := r.CheckInt(L, 1)
	if i < 0 {
		i = n + i
	} else if i > n {
		i = n
	}
	if i < 1 {
		r.BadArgument(L, 1, "index out of range")
	}
	return n - i
}

func toNumber(L *lua.LState) int {
	r := Of(L)
	base := r.OptInt(L, 2, 10)
	value := r.checkAny(L, 1)
	if base == 10 {
		if x, ok := r.AsNumber(L, value); ok {
			return PushNumber(L, x)
		}
		L.Push(lua.LNil)
		return 1
	}
	text := r.CheckString(L, 1)
	if base < 2 || base > 36 {
		r.BadArgument(L, 2, "base out of range")
	}
	if x, ok := ctext.ReadInteger(text, base); ok {
		return PushNumber(L, x)
	}
	L.Push(lua.LNil)
	return 1
}

// toString is Lua's tostring.
func (r *Run) toString(L *lua.LState, v lua.LValue) string {
	if f := metamethod(v, "__tostring"); f != lua.LNil {
		result := Call(L, f, v)
		text, is := AsText(result)
		if !is {
			r.Fail(L, "'tostring' must return a string to 'print'")
		}
		return text
	}
	if text, is := AsText(v); is {
		return text
	}
	switch v.(type) {
	case *lua.LNilType, lua.LBool:
		return v.String()
	case *lua.LUserData:
		return "userdata: (nil)"
	}
	if r.names == nil {
		r.names = map[lua.LValue]int{}
	}
	number, known := r.names[v]
	if !known {
		r.Charge(L, 10)
		number = len(r.names) + 1
		r.names[v] = number
	}
	return fmt.Sprintf("%s: 0x%08x", TypeName(v), number)
}

func unpack(L *lua.LState) int {
	r := Of(L)
	t := r.CheckTable(L, 1)
	first := r.OptInt(L, 2, 1)
	last := t.Len()
	if !Absent(L, 3) {
		last = r.CheckInt(L, 3)
	}
	if first > last {
		return 0
	}
	if n := last - first + 1; n <= 0 || n > MaxUnpacked {
		r.Fail(L, "too many results to unpack")
	}
	r.Charge(L, (last-first)/SlotsPerStep)
	for i := first; i <= last; i++ {
		L.Push(t.RawGet(NumberValue(float64(i))))
	}
	return last - first + 1
}
