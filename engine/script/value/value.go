// Package value has the values of Lua as scripts compute with them: numbers, texts, tables and references, in 16 bytes
// without an interface, so that a number needs no memory of its own.
package value

import (
	"math"
	"unsafe"
)

// Kind is the type of a value.
type Kind uint8

// The kinds of values. Userdata is only cjson.null.
const (
	NilKind Kind = iota
	BoolKind
	NumberKind
	StringKind
	TableKind
	FunctionKind
	ThreadKind
	UserdataKind
)

var kindNames = [...]string{"nil", "boolean", "number", "string", "table", "function", "thread", "userdata"}

// String is the kind's name: the result of type(v), and a word in messages.
func (k Kind) String() string { return kindNames[k] }

// Value is a value of Lua. The zero value is nil.
//
// ref says what bits are: for a number it is the address of numberMark, and bits are those of the float; for a boolean
// it is the address of boolMark. For anything else ref is the object itself, or the bytes of a text, and bits have the
// kind in the highest byte, and the length of a text below.
type Value struct {
	ref  unsafe.Pointer
	bits uint64
}

// The marks are larger than a byte, so that no other variable shares their address.
var numberMark, boolMark uint64

const (
	kindShift = 56
	lengths   = 1<<kindShift - 1
)

// Values that scripts and libraries share.
var (
	Nil   Value
	True  = Value{unsafe.Pointer(&boolMark), 1}
	False = Value{unsafe.Pointer(&boolMark), 0}
)

// Number is a number as a value.
func Number(x float64) Value { return Value{unsafe.Pointer(&numberMark), math.Float64bits(x)} }

// Result is a number that was computed, as a value. Zero has no sign: the sum of both zeros is the positive one.
func Result(x float64) Value { return Number(x + 0) }

// Int is a whole number as a value.
func Int(n int) Value { return Number(float64(n)) }

// Bool is true or false as a value.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// String is a text as a value. It shares the text's bytes.
func String(s string) Value {
	if s == "" {
		return Value{unsafe.Pointer(&boolMark), uint64(StringKind) << kindShift}
	}
	return Value{unsafe.Pointer(unsafe.StringData(s)), uint64(StringKind)<<kindShift | uint64(len(s))}
}

// OfBytes is a text as a value. It shares the bytes, which must not change while the value is in use.
func OfBytes(b []byte) Value {
	if len(b) == 0 {
		return String("")
	}
	return Value{unsafe.Pointer(unsafe.SliceData(b)), uint64(StringKind)<<kindShift | uint64(len(b))}
}

// OfTable is a table as a value.
func OfTable(t *Table) Value { return Reference(TableKind, unsafe.Pointer(t)) }

// Reference is an object of a kind as a value. The object is not nil.
func Reference(k Kind, object unsafe.Pointer) Value { return Value{object, uint64(k) << kindShift} }

// Object is what [Reference] was given.
func (v Value) Object() unsafe.Pointer { return v.ref }

// Kind is the type of the value.
func (v Value) Kind() Kind {
	switch {
	case v.ref == nil:
		return NilKind
	case v.ref == unsafe.Pointer(&numberMark):
		return NumberKind
	case v.bits <= 1:
		return BoolKind
	}
	return Kind(v.bits >> kindShift)
}

// IsNil reports whether the value is nil.
func (v Value) IsNil() bool { return v.ref == nil }

// IsTrue reports whether a condition takes the value for true: all but nil and false.
func (v Value) IsTrue() bool { return v.ref != nil && v != False }

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool { return v.ref == unsafe.Pointer(&numberMark) }

// Float is the number that the value is. It may be called for a number only.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// IsString reports whether the value is a text.
func (v Value) IsString() bool { return v.bits>>kindShift == uint64(StringKind) && !v.IsNumber() }

// Text is the text that the value is. It may be called for a text only.
func (v Value) Text() string { return unsafe.String((*byte)(v.ref), int(v.bits&lengths)) }

// Bytes are those of the text that the value is, which must not be changed. It may be called for a text only.
func (v Value) Bytes() []byte { return unsafe.Slice((*byte)(v.ref), int(v.bits&lengths)) }

// Table is the table that the value is, or nil.
func (v Value) Table() *Table {
	if v.bits == uint64(TableKind)<<kindShift && !v.IsNumber() {
		return (*Table)(v.ref)
	}
	return nil
}

// Equal compares without metamethods: texts by their bytes, numbers as numbers, objects by identity.
func (v Value) Equal(w Value) bool {
	switch {
	case v.IsNumber():
		return w.IsNumber() && v.Float() == w.Float()
	case v.IsString():
		return w.IsString() && v.Text() == w.Text()
	}
	return v == w
}
