package script

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
)

// badArgument raises "bad argument #1 to 'rep' (string expected, got nil)".
func (r *run) badArgument(L *lua.LState, i int, problem string) {
	name := "?"
	if f, ok := r.frameAt(L, 1); ok && f.chunk != nil && f.node.Function.Kind != "" {
		name = f.node.Function.Name
		if f.node.Function.Kind == "method" {
			if i--; i == 0 {
				r.fail(L, "calling '%s' on bad self (%s)", name, problem)
			}
		}
	}
	r.fail(L, "bad argument #%s to '%s' (%s)", strconv.Itoa(i), name, problem)
}

func (r *run) badType(L *lua.LState, i int, wanted string) {
	got := "no value"
	if i <= L.GetTop() {
		got = typeName(L.Get(i))
	}
	r.badArgument(L, i, wanted+" expected, got "+got)
}

func (r *run) checkAny(L *lua.LState, i int) lua.LValue {
	if i > L.GetTop() {
		r.badArgument(L, i, "value expected")
	}
	return L.Get(i)
}

func (r *run) checkTable(L *lua.LState, i int) *lua.LTable {
	t, is := L.Get(i).(*lua.LTable)
	if !is {
		r.badType(L, i, "table")
	}
	return t
}

func (r *run) checkFunction(L *lua.LState, i int) *lua.LFunction {
	f, is := L.Get(i).(*lua.LFunction)
	if !is {
		r.badType(L, i, "function")
	}
	return f
}

func (r *run) checkString(L *lua.LState, i int) string {
	switch v := L.Get(i).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return ctext.NumberText(float64(v))
	}
	r.badType(L, i, "string")
	return ""
}

// asNumber is a number, or the number that a string holds.
func (r *run) asNumber(L *lua.LState, v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return r.parseNumber(L, string(v))
	}
	return 0, false
}

func (r *run) checkNumber(L *lua.LState, i int) float64 {
	x, ok := r.asNumber(L, L.Get(i))
	if !ok {
		r.badType(L, i, "number")
	}
	return x
}

// checkLong is a whole number of 64 bits.
func (r *run) checkLong(L *lua.LState, i int) int { return int(ctext.ToInt64(r.checkNumber(L, i))) }

// checkInt is a whole number as C's int, of 32 bits.
func (r *run) checkInt(L *lua.LState, i int) int { return int(int32(r.checkLong(L, i))) }

func (r *run) optLong(L *lua.LState, i, otherwise int) int {
	if absent(L, i) {
		return otherwise
	}
	return r.checkLong(L, i)
}

func absent(L *lua.LState, i int) bool { return i > L.GetTop() || L.Get(i) == lua.LNil }

func (r *run) optInt(L *lua.LState, i, otherwise int) int {
	if absent(L, i) {
		return otherwise
	}
	return r.checkInt(L, i)
}

func (r *run) optString(L *lua.LState, i int, otherwise string) string {
	if absent(L, i) {
		return otherwise
	}
	return r.checkString(L, i)
}

// smallNumbers are values that need no memory.
var smallNumbers = func() (values [1024]lua.LValue) {
	for i := range values {
		values[i] = lua.LNumber(i)
	}
	return values
}()

func numberValue(x float64) lua.LValue {
	if i := int(x); i >= 0 && i < len(smallNumbers) && float64(i) == x {
		return smallNumbers[i]
	}
	return lua.LNumber(x)
}

func pushNumber(L *lua.LState, x float64) int {
	L.Push(numberValue(x))
	return 1
}

func pushInt(L *lua.LState, n int) int { return pushNumber(L, float64(n)) }

// pushString returns a text that was made for the script, and takes its price.
func pushString(L *lua.LState, s string) int {
	if len(s) >= bytesPerStep {
		runOf(L).charge(L, len(s)/bytesPerStep)
	}
	L.Push(lua.LString(s))
	return 1
}

func pushBool(L *lua.LState, b bool) int {
	if b {
		L.Push(lua.LTrue)
	} else {
		L.Push(lua.LFalse)
	}
	return 1
}

// parseNumber is ctext.ReadNumber for a script, which pays for it.
func (r *run) parseNumber(L *lua.LState, s string) (float64, bool) {
	if price := ctext.ReadPrice(s); price > 0 {
		r.charge(L, price)
	}
	return ctext.ReadNumber(s)
}
