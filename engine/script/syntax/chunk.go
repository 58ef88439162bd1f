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

// Rooms of the names of chunks, in bytes: in the messages of a running function, and in those of the parser.
const (
	RunningRoom = 60
	parsingRoom = 80
)

// ChunkName is the name of a chunk in messages, for which there is room.
func ChunkName(name string, room int) string {
	switch {
	case strings.HasPrefix(name, "="):
		return name[1:min(len(name), room)]
	case strings.HasPrefix(name, "@"):
		if cut := len(name) - (room - len(" '...' ") - 1); cut > 1 {
			return "..." + name[cut:]
		}
		return name[1:]
	}
	line := name
	if end := strings.IndexAny(name, "\r\n"); end >= 0 {
		line = name[:end]
	}
	line = line[:min(len(line), room-len(` [string "..."] `)-1)]
	if len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}
