package interpreter

import (
	"fmt"

	"github.com/stintdb/stint/engine/script/value"
)

var baseFunctions = map[string]GoFunction{
	"collectgarbage": func(L *Thread) int { return L.PushInt(0) },
	"error":          raiseError,
	"gcinfo":         func(L *Thread) int { return L.PushInt(0) },
	"getmetatable":   getMetatable,
	"load":           load,
	"loadstring":     loadString,
	"next":           nextPair,
	"pairs":          pairs,
	"pcall":          protectedCall,
	"xpcall":         protectedCallWithHandler,
}

func raiseError(L *Thread) int {
	level := L.OptInt(2, 1)
	v := L.Get(1)
	if text, is := value.AsText(v); is && level > 0 {
		p, _ := L.placeAt(level)
		v = value.String(p.where() + text)
	}
	L.Raise(v)
	return 0
}

func getMetatable(L *Thread) int {
	v := L.CheckAny(1)
	t, result := v.Table(), value.Nil
	switch {
	case v.IsString(), t == globals:
		result = value.OfTable(shownStringMeta) // something that can't be changed
	case t == nil, t.Shows != nil:
	case !Metamethod(v, "__metatable").IsNil():
		result = Metamethod(v, "__metatable")
	case t.Meta != nil:
		result = value.OfTable(t.Meta)
	}
	return L.Push(result)
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
	if key.IsNil() {
		return L.Push(key)
	}
	return L.Push(key) + L.Push(v)
}

// Name is the text of a value without metamethods: the name of an object is its number among those named so far.
func (L *Thread) Name(v value.Value) string {
	switch v.Kind() {
	case value.NilKind, value.BoolKind, value.NumberKind, value.StringKind:
		return value.Display(v)
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
