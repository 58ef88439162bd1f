package blocks

import (
	"bytes"
	"encoding/binary"
)

// An inner block:
//
//	offset  size  field
//	0       4     n, the number of children
//	4       8n    of each child its number, and the number of elements in it
//	4+8n    4n    the end of each child's separator, counted from the first byte of the first one
//	4+12n         the separators; the first child has none
type inner []byte

// child is a block as its parent refers to it. All keys in it are at least its separator, and below the next child's.
type child struct {
	id, count uint32
	separator []byte
}

func (b inner) len() int                 { return int(binary.LittleEndian.Uint32(b)) }
func (b inner) id(i int) uint32          { return binary.LittleEndian.Uint32(b[4+8*i:]) }
func (b inner) count(i int) uint32       { return binary.LittleEndian.Uint32(b[8+8*i:]) }
func (b inner) setID(i int, id uint32)   { binary.LittleEndian.PutUint32(b[4+8*i:], id) }
func (b inner) setCount(i int, n uint32) { binary.LittleEndian.PutUint32(b[8+8*i:], n) }

func (b inner) separator(i int) []byte {
	ends := b[4+8*b.len():]
	start, first := uint32(0), 4*b.len()
	if i > 0 {
		start = binary.LittleEndian.Uint32(ends[4*(i-1):])
	}
	return ends[first+int(start) : first+int(binary.LittleEndian.Uint32(ends[4*i:]))]
}

// childOf returns the child whose elements a key is among.
func (b inner) childOf(key []byte) int {
	from, to := 0, b.len() // the separator of from is not above the key
	for to-from > 1 {
		if middle := (from + to) / 2; bytes.Compare(b.separator(middle), key) <= 0 {
			from = middle
		} else {
			to = middle
		}
	}
	return from
}

// appendChildren appends the children of a block whose own separator is this.
func (b inner) appendChildren(to []child, separator []byte) []child {
	for i := range b.len() {
		c := child{b.id(i), b.count(i), separator}
		if i > 0 {
			c.separator = b.separator(i)
		}
		to = append(to, c)
	}
	return to
}

// appendInner appends the block of some children.
func appendInner(b []byte, children []child) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(children)))
	for _, c := range children {
		b = binary.LittleEndian.AppendUint32(b, c.id)
		b = binary.LittleEndian.AppendUint32(b, c.count)
	}
	end := 0
	for i, c := range children {
		if i > 0 {
			end += len(c.separator)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(end))
	}
	for _, c := range children[1:] {
		b = append(b, c.separator...)
	}
	return b
}

func sumOf(children []child) (elements uint32) {
	for _, c := range children {
		elements += c.count
	}
	return elements
}
