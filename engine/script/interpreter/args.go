package interpreter

import (
	"strconv"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/value"
)

// BadArgument raises "bad argument #1 to 'rep' (string expected, got nil)".
func (L *Thread) BadArgument(i int, problem string) {
	name := "?"
	if p, ok := L.placeAt(1); ok && p.chunk != nil && p.node.Function.Name != "" {
		name = p.node.Function.Name
		if p.node.Function.Kind == "method" {
			if i--; i == 0 {
				L.Fail("calling '%s' on bad self (%s)", name, problem)
			}
		}
	}
	L.Fail("bad argument #%s to '%s' (%s)", strconv.Itoa(i), name, problem)
}

// Check raises that an argument is bad unless a condition holds.
func (L *Thread) Check(ok bool, i int, problem string) {
	if !ok {
		L.BadArgument(i, problem)
	}
}

// BadType raises that an argument is not of the type that the function wants.
func (L *Thread) BadType(i int, wanted string) {
	got := "no value"
	if i <= L.Top() {
		got = L.Get(i).Kind().String()
	}
	L.BadArgument(i, wanted+" expected, got "+got)
}

// CheckAny returns an argument that must be there.
func (L *Thread) CheckAny(i int) value.Value {
	L.Check(i <= L.Top(), i, "value expected")
	return L.Get(i)
}

// CheckTable returns an argument that must be a table, and raises otherwise, as all that begin with Check.
func (L *Thread) CheckTable(i int) *value.Table {
	t := L.Get(i).Table()
	if t == nil {
		L.BadType(i, "table")
	}
	return t
}

// CheckFunction returns an argument that must be a function, of the script or of a library.
func (L *Thread) CheckFunction(i int) value.Value {
	f := L.Get(i)
	if f.Kind() != value.FunctionKind {
		L.BadType(i, "function")
	}
	return f
}

// CheckString returns the text of an argument that must be a string or a number.
func (L *Thread) CheckString(i int) string {
	text, is := value.AsText(L.Get(i))
	if !is {
		L.BadType(i, "string")
	}
	return text
}

// AsNumber is a number, or the number that a string holds.
func (L *Thread) AsNumber(v value.Value) (float64, bool) {
	switch {
	case v.IsNumber():
		return v.Float(), true
	case v.IsString():
		return L.ParseNumber(v.Text())
	}
	return 0, false
}

// CheckNumber returns an argument that must be a number, or a text that reads as one, for which the script pays.
func (L *Thread) CheckNumber(i int) float64 {
	x, ok := L.AsNumber(L.Get(i))
	if !ok {
		L.BadType(i, "number")
	}
	return x
}

// CheckLong is a whole number of 64 bits.
func (L *Thread) CheckLong(i int) int { return int(ctext.ToInt64(L.CheckNumber(i))) }

// CheckInt is a whole number as C's int, of 32 bits.
func (L *Thread) CheckInt(i int) int { return int(int32(L.CheckLong(i))) }

// OptLong is CheckLong of an argument that may be absent.
func (L *Thread) OptLong(i, otherwise int) int {
	if L.Absent(i) {
		return otherwise
	}
	return L.CheckLong(i)
}

// Absent reports whether an argument was left out, or is nil.
func (L *Thread) Absent(i int) bool { return i > L.Top() || L.Get(i).IsNil() }

// OptInt is CheckInt of an argument that may be absent.
func (L *Thread) OptInt(i, otherwise int) int {
	return int(int32(L.OptLong(i, otherwise)))
}

// OptString is CheckString of an argument that may be absent.
func (L *Thread) OptString(i int, otherwise string) string {
	if L.Absent(i) {
		return otherwise
	}
	return L.CheckString(i)
}

// ParseNumber is ctext.ReadNumber for a script, which pays for it.
func (L *Thread) ParseNumber(s string) (float64, bool) {
	if x, ok := ctext.ReadShort(s); ok {
		return x, true
	}
	if price := ctext.ReadPrice(s); price > 0 {
		L.Charge(price)
	}
	return ctext.ReadNumber(s)
}
