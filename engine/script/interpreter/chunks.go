package interpreter

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/stintdb/stint/engine/script/syntax"
)

// chunks are the sources that a run compiled, by number: the script, and the sources that it loads.
type chunks []*syntax.Chunk

// native turns a message of gopher-lua, "chunk:node: text", into Lua's.
func (c chunks) native(message string) *Raised {
	parts := strings.SplitN(message, ":", 3)
	if len(parts) < 3 {
		return &Raised{value: lua.LString(strings.TrimSpace(message))}
	}
	number, err := strconv.Atoi(parts[0])
	id, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil || number >= len(c) {
		return &Raised{value: lua.LString(message)}
	}
	f := c.frame(number, id)
	text := nativeText(strings.TrimSpace(parts[2]), f.node)
	return &Raised{value: lua.LString(f.chunk.Display + ":" + strconv.Itoa(f.node.Line) + ": " + text), source: f.chunk.Source, line: f.node.Line}
}

func nativeText(text string, n syntax.Node) string {
	first := syntax.Operand{}
	if len(n.Operands) > 0 {
		first = n.Operands[0]
	}
	words := strings.Fields(text)
	switch {
	case text == "registry overflow":
		return "stack overflow"
	case text == "attempt to call a non-function object":
		return badValueText("table", "call", n.Function)
	case strings.HasPrefix(text, "cannot perform") || text == "__unm undefined":
		return badValueText("table", "perform arithmetic on", first)
	case strings.HasPrefix(text, "attempt to compare") && len(words) == 6:
		return CompareText(words[3], words[5])
	case strings.HasPrefix(text, "too many recursions in"):
		return "loop in " + words[len(words)-1]
	}
	return text
}

// frame is a function on the stack: Lua's has a chunk, Go's has none.
type frame struct {
	chunk *syntax.Chunk
	node  syntax.Node
}

// frame is the function that runs a place of a chunk.
func (c chunks) frame(number, id int) (f frame) {
	f.chunk = c[number]
	f.node = f.chunk.NodeAt(id)
	return f
}
