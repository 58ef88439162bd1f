package interpreter

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/syntax"
)

func loadString(L *lua.LState) int {
	r := Of(L)
	source := r.CheckString(L, 1)
	return loadSource(L, source, r.OptString(L, 2, source))
}

func load(L *lua.LState) int {
	r := Of(L)
	reader := r.CheckFunction(L, 1)
	name := r.OptString(L, 2, "=(load)")
	var source strings.Builder
	for {
		part := Call(L, reader)
		text, is := AsText(part)
		if !is && part != lua.LNil {
			r.Fail(L, "reader function must return a string")
		}
		if text == "" {
			break
		}
		r.Charge(L, 10+2*len(text)/BytesPerStep)
		source.WriteString(text)
	}
	return loadSource(L, source.String(), name)
}

// loadSource compiles a source, and returns its function, or nil and a message.
func loadSource(L *lua.LState, source, name string) int {
	r := Of(L)
	r.Charge(L, loadPrice)
	c := &syntax.Chunk{Display: chunkName(name), Source: name, Loaded: true}
	r.chunks = append(r.chunks, c)
	f, weight, left, err := Compile(c, source, len(r.chunks)-1, map[string]lua.LValue{"(KEYS)": r.keys, "(ARGV)": r.argv}, r.budget)
	r.Charge(L, r.budget-left)
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	r.Charge(L, weight)
	L.Push(f)
	return 1
}

// chunkName is the name of a chunk in messages.
func chunkName(name string) string {
	const room = 60
	if name != "" && (name[0] == '@' || name[0] == '=') {
		return name[1:min(len(name), room)]
	}
	line, _, more := strings.Cut(strings.ReplaceAll(name, "\r", "\n"), "\n")
	if space := room - len(`[string "..."]`) - 1; len(line) > space || more {
		return `[string "` + line[:min(len(line), space)] + `..."]`
	}
	return `[string "` + line + `"]`
}
