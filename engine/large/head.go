package large

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/blocks"
	"github.com/stintdb/stint/engine/datatype"
)

// From is the number of flat bytes from which on a value is kept in blocks. A value stays in blocks until it is written
// as a whole: the form of a value depends on the commands alone, so that replicas agree.
const From = 8 << 10

// MaxBytes bounds the flat bytes of a value in blocks.
const MaxBytes = engine.MaxVariableState - 1<<20

// Head is what the key of a value keeps:
//
//	offset  size  field
//	0       8     Version
//	8       8     Journaled
//	16      4     Bytes
//	20      12    Main: root, depth, count
//	32      12    Side
//	44      4     Stored
//	48      4     Longest
type Head struct {
	Version   uint64      // grows with each change, and from one value of a key to the next
	Journaled uint64      // the version that the journal has
	Bytes     uint32      // of the elements, fields, values and members
	Main      blocks.Tree // the elements by place, the members or fields by name, or of a sorted set by score and name
	Stored    uint32      // the bytes of the blocks in memory
	Side      blocks.Tree // of a sorted set, the scores by the names of the members
	Longest   uint32      // the most bytes that an element had since the value was put into blocks
}

// IsKind reports whether values of a kind are kept in blocks when they are large.
func IsKind(k engine.Kind) bool {
	switch k {
	case engine.ListKind, engine.SetKind, engine.HashKind, engine.SortedSetKind, engine.StreamKind:
		return true
	}
	return false
}

// hasValues reports whether the elements of a kind have names and values. A stream is kept as a hash of its entries by
// their ids.
func hasValues(k engine.Kind) bool { return k == engine.HashKind || k == engine.StreamKind }

// HeadBytes is the size of a head.
const HeadBytes = 52

// ReadHead reads a head.
func ReadHead(b []byte) Head {
	le := binary.LittleEndian
	return Head{
		Version: le.Uint64(b), Journaled: le.Uint64(b[8:]), Bytes: le.Uint32(b[16:]), Stored: le.Uint32(b[44:]), Longest: le.Uint32(b[48:]),
		Main: blocks.Tree{Root: le.Uint32(b[20:]), Depth: le.Uint32(b[24:]), Count: le.Uint32(b[28:])},
		Side: blocks.Tree{Root: le.Uint32(b[32:]), Depth: le.Uint32(b[36:]), Count: le.Uint32(b[40:])},
	}
}

// Append appends the bytes of a head.
func (h *Head) Append(b []byte) []byte {
	var head [HeadBytes]byte
	le := binary.LittleEndian
	le.PutUint64(head[:], h.Version)
	le.PutUint64(head[8:], h.Journaled)
	le.PutUint32(head[16:], h.Bytes)
	for i, t := range [...]*blocks.Tree{&h.Main, &h.Side} {
		tree := head[20+12*i:]
		le.PutUint32(tree, t.Root)
		le.PutUint32(tree[4:], t.Depth)
		le.PutUint32(tree[8:], t.Count)
	}
	le.PutUint32(head[44:], h.Stored)
	le.PutUint32(head[48:], h.Longest)
	return append(b, head[:]...)
}

// FlatBytes is the size of the value of a kind as flat bytes.
func (h *Head) FlatBytes(kind engine.Kind) int {
	n := int(h.Main.Count)
	switch {
	case n == 0:
		return 0
	case kind == engine.SortedSetKind:
		return datatype.SortedSetBytes(n, int(h.Bytes))
	case hasValues(kind):
		n *= 2
	}
	return datatype.SequenceBytes(n, int(h.Bytes))
}

// SetJournaled notes in the bytes of a head that the journal has its version.
func SetJournaled(b []byte) { copy(b[8:16], b[:8]) }

// ClearJournaled notes in the bytes of a head that the journal has no version of it.
func ClearJournaled(b []byte) { clear(b[8:16]) }
