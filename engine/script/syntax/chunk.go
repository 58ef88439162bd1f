package syntax

import (
	"strings"
	"unsafe"
)

// Chunk is a piece of source, with everything but its tree that is known of it.
type Chunk struct {
	Display string // its name in messages
	Source  string // its name in the last part of an error
	Loaded  bool   // by load or loadstring: a function of its arguments, with KEYS and ARGV around it

	nodes []Node
}

// NodeAt returns the place of a number, which the tree has in place of lines.
func (c *Chunk) NodeAt(id int) (n Node) {
	if id > 0 && id <= len(c.nodes) {
		n = c.nodes[id-1]
	}
	return n
}

// Memory is about the size of the places, in bytes.
func (c *Chunk) Memory() int {
	const ofNode, ofOperand = int(unsafe.Sizeof(Node{})) * 5 / 4, int(unsafe.Sizeof(Operand{}))
	bytes := len(c.nodes) * ofNode
	for i := range c.nodes {
		bytes += len(c.nodes[i].Operands) * ofOperand
	}
	return bytes
}

// Node is a place of the source that can fail.
type Node struct {
	Line     int
	Function Operand   // of a call
	Operands []Operand // of an operation, and the object of an index or a method
}

// Operand is the name of a variable in an error message: local 'x'. The kind is empty when there is none, and for the
// iterator of a loop, which only messages about its arguments name.
type Operand struct{ Kind, Name string }

// Error is a mistake in the source. Its text begins with the name of the chunk and the line.
type Error string

// Error is the message of the reference implementation.
func (e Error) Error() string { return string(e) }

// ChunkName is the name of a chunk in messages.
func ChunkName(name string) string {
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
