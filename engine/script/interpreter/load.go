package interpreter

import (
	"strings"

	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

func loadString(L *Thread) int {
	source := L.CheckString(1)
	return loadSource(L, source, L.OptString(2, source))
}

func load(L *Thread) int {
	reader := L.CheckFunction(1)
	name := L.OptString(2, "=(load)")
	var source strings.Builder
	for {
		part := L.Call(reader)
		text, is := value.AsText(part)
		if !is && !part.IsNil() {
			L.Fail("reader function must return a string")
		}
		if text == "" {
			break
		}
		L.Charge(10 + 2*len(text)/BytesPerStep)
		source.WriteString(text)
	}
	return loadSource(L, source.String(), name)
}

// loadSource compiles a source, and returns its function, or nil and a message.
func loadSource(L *Thread, source, name string) int {
	L.Charge(loadPrice)
	c := &syntax.Chunk{Display: syntax.ChunkName(name, syntax.RunningRoom), Source: name, Loaded: true}
	f, weight, left, err := Compile(c, source, L.run.budget)
	L.Charge(L.run.budget - left)
	if err != nil {
		return L.Push(value.Nil) + L.Push(value.String(err.Error()))
	}
	L.Charge(weight)
	return L.Push(OfFunction(f))
}
