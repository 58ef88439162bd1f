package interpreter

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
)

// BadArgument raises "bad argument #1 to 'rep' (string expected, got nil)".
func (r *Run) BadArgument(L *lua.LState, i int, problem string) {
	name := "?"
	if f, ok := r.frameAt(L, 1); ok && f.chunk != nil && f.node.Function.Kind != "" {
		name = f.node.Function.Name
		if f.node.Function.Kind == "method" {
			if i--; i == 0 {
				r.Fail(L, "calling '%s' on bad self (%s)", name, problem)
			}
		}
	}
	r.Fail(L, "bad argument #%s to '%s' (%s)", strconv.Itoa(i), name, problem)
}

// BadType raises that an argument is not of the type that the function wants.
func (r *Run) BadType(L *lua.LState, i int, wanted string) {
	got := "no value"
	if i <= L.GetTop() {
		got = TypeName(L.Get(i))
	}
	r.BadArgument(L, i, wanted+" expected, got "+got)
}

func (r *Run) checkAny(L *lua.LState, i int) lua.LValue {
	if i > L.GetTop() {
		r.BadArgument(L, i, "value expected")
	}
	return L.Get(i)
}

// CheckTable returns an argument that must be a table, and raises otherwise, as all that begin with Check.
func (r *Run) CheckTable(L *lua.LState, i int) *lua.LTable {
	t, is := L.Get(i).(*lua.LTable)
	if !is {
		r.BadType(L, i, "table")
	}
	return t
}

// CheckFunction returns an argument that must be a function, of the script or of a library.
func (r *Run) CheckFunction(L *lua.LState, i int) *lua.LFunction {
	f, is := L.Get(i).(*lua.LFunction)
	if !is {
		r.BadType(L, i, "function")
	}
	return f
}

// CheckString returns the text of an argument that must be a string or a number.
func (r *Run) CheckString(L *lua.LState, i int) string {
	switch v := L.Get(i).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return ctext.NumberText(float64(v))
	}
	r.BadType(L, i, "string")
	return ""
}

// AsNumber is a number, or the number that a string holds.
func (r *Run) AsNumber(L *lua.LState, v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return r.ParseNumber(L, string(v))
	}
	return 0, false
}

// CheckNumber returns an argument that must be a number, or a text that reads as one, for which the script pays.
func (r *Run) CheckNumber(L *lua.LState, i int) float64 {
	x, ok := r.AsNumber(L, L.Get(i))
	if !ok {
		r.BadType(L, i, "number")
	}
	return x
}

// CheckLong is a whole number of 64 bits.
func (r *Run) CheckLong(L *lua.LState, i int) int { return int(ctext.ToInt64(r.CheckNumber(L, i))) }

// CheckInt is a whole number as C's int, of 32 bits.
func (r *Run) CheckInt(L *lua.LState, i int) int { return int(int32(r.CheckLong(L, i))) }

// OptLong is CheckLong of an argument that may be absent.
func (r *Run) OptLong(L *lua.LState, i, otherwise int) int {
	if Absent(L, i) {
		return otherwise
	}
	return r.CheckLong(L, i)
}

// Absent reports whether an argument was left out, or is nil.
func Absent(L *lua.LState, i int) bool { return i > L.GetTop() || L.Get(i) == lua.LNil }

// OptInt is CheckInt of an argument that may be absent.
func (r *Run) OptInt(L *lua.LState, i, otherwise int) int {
	if Absent(L, i) {
		return otherwise
	}
	return r.CheckInt(L, i)
}

// OptString is CheckString of an argument that may be absent.
func (r *Run) OptString(L *lua.LState, i int, otherwise string) string {
	if Absent(L, i) {
		return otherwise
	}
	return r.CheckString(L, i)
}

// smallNumbers are values that need no memory.
var smallNumbers = func() (values [1024]lua.LValue) {
	for i := range values {
		values[i] = lua.LNumber(i)
	}
	return values
}()

// NumberValue is a number as a value of the script. Small whole ones need no memory.
func NumberValue(x float64) lua.LValue {
	if i := int(x); i >= 0 && i < len(smallNumbers) && float64(i) == x {
		return smallNumbers[i]
	}
	return lua.LNumber(x)
}

// PushNumber returns a number to the script: it gives 1, the number of results, like all that begin with Push.
func PushNumber(L *lua.LState, x float64) int {
	L.Push(NumberValue(x))
	return 1
}

// PushInt returns a whole number to the script.
func PushInt(L *lua.LState, n int) int { return PushNumber(L, float64(n)) }

// PushString returns a text that was made for the script, and takes its price.
func PushString(L *lua.LState, s string) int {
	if len(s) >= BytesPerStep {
		Of(L).Charge(L, len(s)/BytesPerStep)
	}
	L.Push(lua.LString(s))
	return 1
}

// PushBool returns true or false to the script.
func PushBool(L *lua.LState, b bool) int {
	if b {
		L.Push(lua.LTrue)
	} else {
		L.Push(lua.LFalse)
	}
	return 1
}

// ParseNumber is ctext.ReadNumber for a script, which pays for it.
func (r *Run) ParseNumber(L *lua.LState, s string) (float64, bool) {
	if price := ctext.ReadPrice(s); price > 0 {
		r.Charge(L, price)
	}
	return ctext.ReadNumber(s)
}
