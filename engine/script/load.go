package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/syntax"
)

func loadString(L *lua.LState) int {
	r := runOf(L)
	source := r.checkString(L, 1)
	return loadSource(L, source, r.optString(L, 2, source))
}

func load(L *lua.LState) int {
	r := runOf(L)
	reader := r.checkFunction(L, 1)
	name := r.optString(L, 2, "=(load)")
	var source strings.Builder
	for {
		part := call(L, reader)
		text, is := asText(part)
		if !is && part != lua.LNil {
			r.fail(L, "reader function must return a string")
		}
		if text == "" {
			break
		}
		r.charge(L, 10+2*len(text)/bytesPerStep)
		source.WriteString(text)
	}
	return loadSource(L, source.String(), name)
}

// loadSource compiles a source, and returns its function, or nil and a message.
func loadSource(L *lua.LState, source, name string) int {
	r := runOf(L)
	r.charge(L, loadPrice)
	c := &syntax.Chunk{Display: chunkName(name), Source: name, Loaded: true}
	r.chunks = append(r.chunks, c)
	f, weight, left, err := compile(c, source, len(r.chunks)-1, map[string]lua.LValue{"(KEYS)": r.keys, "(ARGV)": r.argv}, r.budget)
	r.charge(L, r.budget-left)
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	r.charge(L, weight)
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
