package interpreter

import (
	"fmt"
	"strconv"

	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// Reply is the error's text as Redis replies it, without "-".
func (e *Raised) Reply(sha string) string {
	if e.final {
		return value.Display(e.value)
	}
	var text string
	if t := e.value.Table(); t != nil {
		text, _ = value.AsText(t.GetString("err"))
	} else {
		text = "ERR " + value.Display(e.value)
	}
	if e.source != "" {
		text += " script: " + sha + ", on " + e.source + ":" + strconv.Itoa(e.line) + "."
	}
	return text
}

// place is a function on the stack: a script's has a chunk, Go's has none.
type place struct {
	chunk *syntax.Chunk
	node  syntax.Node
}

// where is the start of a message.
func (p place) where() string {
	if p.chunk == nil {
		return ""
	}
	return p.chunk.Display + ":" + strconv.Itoa(p.node.Line) + ": "
}

func (fr *frame) place() (p place) {
	if fr.function != nil {
		p.chunk = fr.function.proto.chunk
		p.node = p.chunk.NodeAt(fr.at)
	}
	return p
}

// placeAt returns the function of a level: 1 called the Go function that runs. An operator of a script counts as one.
func (L *Thread) placeAt(level int) (p place, ok bool) {
	i := L.depth - 1
	if i >= 0 && L.frames[i].function != nil {
		level--
	}
	for ; level > 0 && i >= 0; i-- {
		level -= 1 + L.frames[i].tailCalls
	}
	if level < 0 || i < 0 { // a tail call has taken the place of the function, or there is none
		return p, level < 0
	}
	return L.frames[i].place(), true
}

// Raise ends the current function with an error value. A text was put together from several parts.
func (L *Thread) Raise(v value.Value) {
	if v.IsString() {
		L.Charge(2 * len(v.Text()) / BytesPerStep)
	}
	e := &Raised{value: v}
	if p, ok := L.placeAt(1); ok {
		e.source, e.line = "=[C]", -1
		if p.chunk != nil {
			e.source, e.line = p.chunk.Source, p.node.Line
		}
	}
	panic(e)
}

// Fail raises a message with the place of the caller.
func (L *Thread) Fail(format string, args ...any) {
	p, _ := L.placeAt(1)
	L.Raise(value.String(p.where() + fmt.Sprintf(format, args...)))
}

// scriptPlace is the function of the script that runs, or that called the Go function that does.
func (L *Thread) scriptPlace() (p place, ok bool) {
	for i := L.depth - 1; i >= 0; i-- {
		if p := L.frames[i].place(); p.chunk != nil {
			return p, true
		}
	}
	return p, false
}

// failNative raises a message with the place in the script.
func (L *Thread) failNative(text string) {
	e := &Raised{traced: true}
	if p, ok := L.scriptPlace(); ok {
		text = p.where() + text
		e.source, e.line = p.chunk.Source, p.node.Line
	}
	e.value = value.String(text)
	panic(e)
}

// operand is the name of an operand, or of the function that is called if the index is negative.
func (p place) operand(index int) (name syntax.Operand) {
	if index < 0 {
		name = p.node.Function
	} else if index < len(p.node.Operands) {
		name = p.node.Operands[index]
	}
	return name
}

// failHere raises a message with the place of the function that runs. A Go function has none.
func (L *Thread) failHere(text string) {
	L.Raise(value.String(L.frames[L.depth-1].place().where() + text))
}

// failValue raises "attempt to index local 'x' (a nil value)" for an operand of the operation that runs, or for its
// function if the index is negative. A Go function has no names, and no place.
func (L *Thread) failValue(v value.Value, doing string, operand int) {
	p := L.frames[L.depth-1].place()
	L.Raise(value.String(p.where() + badValueText(v.Kind().String(), doing, p.operand(operand))))
}

func badValueText(kind, doing string, name syntax.Operand) string {
	if name.Kind == "" {
		return "attempt to " + doing + " a " + kind + " value"
	}
	return "attempt to " + doing + " " + name.Kind + " '" + name.Name + "' (a " + kind + " value)"
}

// compareText is the message for values that have no order.
func compareText(a, b value.Value) string {
	x, y := a.Kind().String(), b.Kind().String()
	if x[2] == y[2] { // as the reference implementation compares the names
		return "attempt to compare two " + x + " values"
	}
	return "attempt to compare " + x + " with " + y
}
