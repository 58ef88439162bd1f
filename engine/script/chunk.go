package script

import "unsafe"

// chunk is a piece of source, and what is known of it besides its tree.
type chunk struct {
	display string // its name in messages
	source  string // its name in the last part of an error
	loaded  bool   // by load or loadstring: a function of its arguments, with KEYS and ARGV around it

	used   []string // builtins, by name, in the order in which the source uses them
	isUsed map[string]bool
	nodes  []node
}

// uses notes that the source uses a builtin.
func (c *chunk) uses(name string) {
	if !c.isUsed[name] {
		c.isUsed[name] = true
		c.used = append(c.used, name)
	}
}

// nodeAt returns the place of a number, which the tree has in place of lines.
func (c *chunk) nodeAt(id int) (n node) {
	if id > 0 && id <= len(c.nodes) {
		n = c.nodes[id-1]
	}
	return n
}

// memory is about what the places of the source take, in bytes.
func (c *chunk) memory() int {
	const ofNode, ofOperand = int(unsafe.Sizeof(node{})) * 5 / 4, int(unsafe.Sizeof(operand{}))
	bytes := len(c.nodes) * ofNode
	for i := range c.nodes {
		bytes += len(c.nodes[i].operands) * ofOperand
	}
	return bytes
}

// node is a place of the source that can fail.
type node struct {
	line     int
	function operand   // of a call
	operands []operand // of an operation, and the object of an index or a method
}

// operand is the name of a variable in an error message: local 'x'. The kind is empty when there is none.
type operand struct{ kind, name string }

// scriptError is a mistake in the source. Its text begins with the name of the chunk and the line.
type scriptError string

// Error is the message of the reference implementation.
func (e scriptError) Error() string { return string(e) }
