package interpreter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/syntax"
)

// Raised is an error on its way: its value, and the place that Redis adds to the reply.
type Raised struct {
	value  lua.LValue
	source string
	line   int
	final  bool // no pcall catches it
	Broken bool // the interpreter failed
	traced bool // it wrote down the stack
}

// String is the text of the error's value: gopher-lua asks for it.
func (e *Raised) String() string { return e.value.String() }

// Type makes the error a value that gopher-lua can raise.
func (e *Raised) Type() lua.LValueType { return lua.LTUserData }

// Reply is the error's text as Redis replies it, without "-".
func (e *Raised) Reply(sha string) string {
	if e.final {
		return e.value.String()
	}
	var text string
	if t, is := e.value.(*lua.LTable); is {
		text, _ = AsText(t.RawGetString("err"))
	} else {
		text = "ERR " + display(e.value)
	}
	if e.source != "" {
		text += " script: " + sha + ", on " + e.source + ":" + strconv.Itoa(e.line) + "."
	}
	return text
}

// display is tostring without metamethods and without addresses.
func display(v lua.LValue) string {
	if text, is := AsText(v); is {
		return text
	}
	switch v.(type) {
	case *lua.LNilType, lua.LBool:
		return v.String()
	}
	return TypeName(v) + ": 0x00000000"
}

// AsText is the text of a string or a number.
func AsText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return ctext.NumberText(float64(v)), true
	}
	return "", false
}

// TypeName is the name of a value's type: the result of type(v), and a word in messages.
func TypeName(v lua.LValue) string { return v.Type().String() }

// frameAt returns the function of a level: 1 called the current Go function.
func (r *Run) frameAt(L *lua.LState, level int) (f frame, ok bool) {
	debug, ok := L.GetStack(level)
	if !ok {
		return f, false
	}
	function, err := L.GetInfo("fSl", debug, nil)
	if fn, is := function.(*lua.LFunction); err != nil || !is || fn.IsG {
		return f, true
	}
	number, _ := strconv.Atoi(debug.Source)
	return r.chunks.frame(number, debug.CurrentLine), true
}

// where is the start of a message: the place of a level.
func (r *Run) where(L *lua.LState, level int) string {
	if f, ok := r.frameAt(L, level); ok && f.chunk != nil {
		return f.chunk.Display + ":" + strconv.Itoa(f.node.Line) + ": "
	}
	return ""
}

// Raise ends the current function with an error value. A text was put together from several parts.
func (r *Run) Raise(L *lua.LState, value lua.LValue) {
	if text, is := value.(lua.LString); is {
		r.Charge(L, 2*len(text)/BytesPerStep)
	}
	e := &Raised{value: value}
	if f, ok := r.frameAt(L, 1); ok {
		e.source, e.line = "=[C]", -1
		if f.chunk != nil {
			e.source, e.line = f.chunk.Source, f.node.Line
		}
	}
	throw(L, e)
}

// throw unwinds the stack. It keeps gopher-lua from writing down the stack first, which takes long.
func throw(L *lua.LState, e *Raised) {
	L.Panic = func(L *lua.LState) {
		panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: L.Get(-1), StackTrace: noTrace})
	}
	L.Error(e, 0)
}

const noTrace = "-"

// Fail raises a message with the place of the caller.
func (r *Run) Fail(L *lua.LState, format string, args ...any) {
	r.Raise(L, lua.LString(r.where(L, 1)+fmt.Sprintf(format, args...)))
}

// badValue raises "attempt to index local 'x' (a nil value)" for an operand of the caller's operation.
func (r *Run) badValue(L *lua.LState, v lua.LValue, doing string, operandIndex int) {
	f, _ := r.frameAt(L, 1)
	var name syntax.Operand
	if operandIndex < 0 {
		name = f.node.Function
	} else if operandIndex < len(f.node.Operands) {
		name = f.node.Operands[operandIndex]
	}
	r.Fail(L, "%s", badValueText(TypeName(v), doing, name))
}

func badValueText(kind, doing string, name syntax.Operand) string {
	if name.Kind == "" {
		return "attempt to " + doing + " a " + kind + " value"
	}
	return "attempt to " + doing + " " + name.Kind + " '" + name.Name + "' (a " + kind + " value)"
}

// CompareText is the message for values that have no order.
func CompareText(a, b string) string {
	if a[2] == b[2] { // as the reference implementation compares the names
		return "attempt to compare two " + a + " values"
	}
	return "attempt to compare " + a + " with " + b
}

// Caught returns what PCall caught.
func (r *Run) Caught(err error) *Raised {
	var failure *lua.ApiError
	is := errors.As(err, &failure)
	if !is || failure.Type == lua.ApiErrorPanic {
		if is && failure.Object.String() != "" && strings.Contains(failure.Object.String(), "stack overflow") {
			return &Raised{value: lua.LString("ERR stack overflow"), final: true, Broken: true}
		}
		r.budget, r.over = -1, "ERR internal error of the script engine"
		return &Raised{value: lua.LString(r.over), final: true, Broken: true}
	}
	if e, is := failure.Object.(*Raised); is {
		return e
	}
	e := r.chunks.native(failure.Object.String())
	e.traced = true
	return e
}
