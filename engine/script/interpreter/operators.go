package interpreter

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
)

// The helpers that the tree calls in place of operators. They run as Go functions called by the line that has the
// operator.

var operatorFunctions = map[string]lua.LGFunction{
	"(charge)": func(L *lua.LState) int {
		Of(L).Charge(L, int(L.Get(1).(lua.LNumber)))
		return 0
	},
	"(varargs)": func(L *lua.LState) int {
		n := L.GetTop()
		Of(L).Charge(L, n/SlotsPerStep)
		return n
	},
	"(global)": func(L *lua.LState) int { return missingGlobal(L, L.Get(1)) },
	"(set global)": func(L *lua.LState) int {
		Of(L).Fail(L, readOnlyText)
		return 0
	},
	"(get)":           getIndex,
	"(set)":           setIndex,
	"(items)":         setItems,
	"(fields)":        setFields,
	"(concat)":        concat,
	"(bound initial)": func(L *lua.LState) int { return forBound(L, "initial value") },
	"(bound limit)":   func(L *lua.LState) int { return forBound(L, "limit") },
	"(bound step)":    func(L *lua.LState) int { return forBound(L, "step") },
	"(mod)":           func(L *lua.LState) int { return arithmetic(L, "__mod", modulo) },
	"(pow)":           func(L *lua.LState) int { return arithmetic(L, "__pow", Power) },
	"(<)":             func(L *lua.LState) int { return PushBool(L, Less(L, L.Get(1), L.Get(2))) },
	"(>)":             func(L *lua.LState) int { return PushBool(L, Less(L, L.Get(2), L.Get(1))) },
	"(<=)":            func(L *lua.LState) int { return PushBool(L, lessEqual(L, L.Get(1), L.Get(2))) },
	"(>=)":            func(L *lua.LState) int { return PushBool(L, lessEqual(L, L.Get(2), L.Get(1))) },
	"(==)":            func(L *lua.LState) int { return PushBool(L, equal(L, L.Get(1), L.Get(2))) },
	"(~=)":            func(L *lua.LState) int { return PushBool(L, !equal(L, L.Get(1), L.Get(2))) },
}

// readOnlyText is the error for a change of the globals and the libraries.
const readOnlyText = "Attempt to modify a readonly table"

func missingGlobal(L *lua.LState, name lua.LValue) int {
	text, _ := AsText(name)
	Of(L).Fail(L, "Script attempted to access nonexistent global variable '%s'", text)
	return 0
}

func forBound(L *lua.LState, what string) int {
	x, ok := Of(L).AsNumber(L, L.Get(1))
	if !ok {
		Of(L).Fail(L, "'for' %s must be a number", what)
	}
	return PushNumber(L, x)
}

// metamethod returns a field of a value's metatable. Only tables have metatables of their own.
func metamethod(v lua.LValue, event string) lua.LValue {
	if t, is := v.(*lua.LTable); is {
		if meta, is := t.Metatable.(*lua.LTable); is {
			return meta.RawGetString(event)
		}
	}
	return lua.LNil
}

func metamethod2(a, b lua.LValue, event string) lua.LValue {
	if f := metamethod(a, event); f != lua.LNil {
		return f
	}
	return metamethod(b, event)
}

// Call calls a value with arguments and returns its first result.
func Call(L *lua.LState, f lua.LValue, args ...lua.LValue) lua.LValue {
	Of(L).Charge(L, InvokePrice)
	L.Push(f)
	for _, arg := range args {
		L.Push(arg)
	}
	L.Call(len(args), 1)
	result := L.Get(-1)
	L.Pop(1)
	return result
}

// arithmetic is an operator on two values of any type.
func arithmetic(L *lua.LState, event string, operate func(a, b float64) float64) int {
	r, a, b := Of(L), L.Get(1), L.Get(2)
	x, ok := r.AsNumber(L, a)
	y, ok2 := r.AsNumber(L, b)
	switch {
	case ok && ok2:
		return PushNumber(L, operate(x, y))
	case metamethod2(a, b, event) != lua.LNil:
		L.Push(Call(L, metamethod2(a, b, event), a, b))
		return 1
	case ok:
		r.badValue(L, b, "perform arithmetic on", 1)
	}
	r.badValue(L, a, "perform arithmetic on", 0)
	return 0
}

// modulo is a - floor(a/b)*b. The conversions keep compilers from fusing the operations.
func modulo(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }

// Power is a ^ b: exact where the result is a whole number that a float can hold.
func Power(a, b float64) float64 {
	if b == 2 {
		return a * a
	}
	if b == 0.5 && a >= 0 && !math.IsInf(a, 0) {
		return math.Sqrt(a)
	}
	if n := int(b); float64(n) == b && n > 0 && n <= 64 { // exact where the result is
		result, base := 1.0, a
		for ; n > 0; n >>= 1 {
			if n&1 == 1 {
				result *= base
			}
			base *= base
		}
		if result == math.Trunc(result) && math.Abs(result) <= 1<<53 {
			return result
		}
	}
	return math.Pow(a, b)
}

// getIndex is object[key].
func getIndex(L *lua.LState) int {
	r := Of(L)
	object, key := L.Get(1), L.Get(2)
	if s, is := key.(lua.LString); is {
		r.ChargeBytes(L, len(s))
	}
	for range maxIndexes {
		var next lua.LValue
		switch v := object.(type) {
		case *lua.LTable:
			if value := v.RawGet(key); value != lua.LNil || v.Metatable == lua.LNil {
				L.Push(value)
				return 1
			}
			next = metamethod(v, "__index")
		case lua.LString:
			next = stringLibrary
		default:
			r.badValue(L, object, "index", 0)
		}
		switch next.(type) {
		case *lua.LNilType:
			L.Push(lua.LNil)
			return 1
		case *lua.LFunction:
			L.Push(Call(L, next, object, key))
			return 1
		}
		object = next
	}
	r.Fail(L, "loop in gettable")
	return 0
}

// setIndex is object[key] = value.
func setIndex(L *lua.LState) int {
	r := Of(L)
	object, key, value := L.Get(1), L.Get(2), L.Get(3)
	for range maxIndexes {
		t, is := object.(*lua.LTable)
		if !is {
			r.badValue(L, object, "index", 0)
		}
		if readOnly[t] != nil {
			r.Fail(L, readOnlyText)
		}
		next := metamethod(t, "__newindex")
		if next == lua.LNil || t.RawGet(key) != lua.LNil {
			r.Set(L, t, key, value)
			return 0
		}
		if _, is := next.(*lua.LFunction); is {
			Call(L, next, object, key, value)
			return 0
		}
		object = next
	}
	r.Fail(L, "loop in settable")
	return 0
}

// concat is a .. b .. c, from the right.
func concat(L *lua.LState) int {
	r := Of(L)
	n := L.GetTop()
	r.build = r.build[:0]
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			r.ChargeBytes(L, len(v))
			r.build = append(r.build, v...)
		case lua.LNumber:
			r.build = ctext.AppendNumber(r.build, float64(v), 14)
		default:
			return concatValues(L, r, n)
		}
	}
	return PushString(L, string(r.build))
}

func concatValues(L *lua.LState, r *Run, n int) int {
	right := L.Get(n)
	for i := n - 1; i > 0; i-- {
		left := L.Get(i)
		a, ok := AsText(left)
		b, ok2 := AsText(right)
		if ok && ok2 {
			r.ChargeBytes(L, len(a)+len(b))
			right = lua.LString(a + b)
			continue
		}
		method := metamethod2(left, right, "__concat")
		if method == lua.LNil {
			if ok {
				r.badValue(L, right, "concatenate", i)
			}
			r.badValue(L, left, "concatenate", i-1)
		}
		right = Call(L, method, left, right)
	}
	L.Push(right)
	return 1
}

// Less is a < b, by a metamethod for values that are not two numbers or two strings.
func Less(L *lua.LState, a, b lua.LValue) bool {
	if x, is := a.(lua.LNumber); is {
		if y, is := b.(lua.LNumber); is {
			return x < y
		}
	}
	return ordered(L, a, b, "__lt")
}

func lessEqual(L *lua.LState, a, b lua.LValue) bool {
	if x, is := a.(lua.LNumber); is {
		if y, is := b.(lua.LNumber); is {
			return x <= y
		}
	}
	return ordered(L, a, b, "__le")
}

// ordered compares values that are not two numbers.
func ordered(L *lua.LState, a, b lua.LValue, event string) bool {
	r := Of(L)
	if x, is := a.(lua.LString); is {
		if y, is := b.(lua.LString); is {
			r.ChargeBytes(L, min(len(x), len(y)))
			return x < y || event == "__le" && x == y
		}
	}
	if a.Type() == b.Type() {
		if f := metamethod(a, event); f != lua.LNil && f == metamethod(b, event) {
			return lua.LVAsBool(Call(L, f, a, b))
		}
		if f := metamethod(a, "__lt"); event == "__le" && f != lua.LNil && f == metamethod(b, "__lt") {
			return !lua.LVAsBool(Call(L, f, b, a))
		}
	}
	r.Fail(L, "%s", CompareText(TypeName(a), TypeName(b)))
	return false
}

func equal(L *lua.LState, a, b lua.LValue) bool {
	x, is := a.(lua.LString)
	if is {
		y, is := b.(lua.LString)
		if is && len(x) == len(y) {
			Of(L).ChargeBytes(L, len(x)/4)
		}
		return is && x == y
	}
	return L.Equal(a, b)
}
