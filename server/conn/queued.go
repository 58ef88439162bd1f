package conn

import (
	"slices"
	"unsafe"

	"github.com/stintdb/stint/server/command"
)

// transaction has the commands that a session collects between MULTI and EXEC.
type transaction struct {
	open        bool
	broken      bool // a command could not be queued: EXEC aborts
	queued      []queuedCommand
	bytes       int // of the arguments, counted as their bound counts them
	memoryBytes int // the memory of the queued commands
}

// writes reports whether EXEC may change keys.
func (t *transaction) writes() bool {
	return slices.ContainsFunc(t.queued, func(c queuedCommand) bool { return c.row.Flags&command.Write != 0 })
}

type queuedCommand struct {
	row  *command.Row
	args [][]byte
}

// queuedBytes estimates the memory of a copy of a command, with the sizes that Go rounds up to and the spare room of a
// growing list.
func queuedBytes(args [][]byte) (bytes int) {
	bytes = 2 * int(unsafe.Sizeof(queuedCommand{}))
	for _, a := range args {
		bytes += int(unsafe.Sizeof(a)) + len(a) + len(a)/8 + 16
	}
	return bytes
}

// copyOf copies arguments, into one piece of memory.
func copyOf(args [][]byte) [][]byte {
	total := 0
	for _, a := range args {
		total += len(a)
	}
	copied, room := make([][]byte, len(args)), make([]byte, 0, total)
	for i, a := range args {
		from := len(room)
		room = append(room, a...)
		copied[i] = room[from:len(room):len(room)]
	}
	return copied
}
