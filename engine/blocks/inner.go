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

func (b inner) len() int           { return int(binary.LittleEndian.Uint32(b)) }
func (b inner) id(i int) uint32    { return binary.LittleEndian.Uint32(b[4+8*i:]) }
func (b inner) count(i int) uint32 { return binary.LittleEndian.Uint32(b[8+8*i:]) }

func (b inner) addCount(i, n int) {
	binary.LittleEndian.PutUint32(b[8+8*i:], b.count(i)+uint32(n))
}

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
	ends := b[4+8*to:]
	separators := ends[4*to:]
	for to-from > 1 {
		middle := int(uint(from+to) / 2)
		start, end := binary.LittleEndian.Uint32(ends[4*middle-4:]), binary.LittleEndian.Uint32(ends[4*middle:])
		if bytes.Compare(separators[start:end], key) <= 0 {
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

// splice appends the block with children in the place of n children from one on. The first of them takes over the
// separator of the first child that it replaces.
func (b inner) splice(to []byte, at, n int, with []child) inner {
	le, count := binary.LittleEndian, b.len()
	ends := b[4+8*count:]
	separators := ends[4*count:]
	endOf := func(i int) int { // where the separators of the first i children end
		if i == 0 {
			return 0
		}
		return int(le.Uint32(ends[4*(i-1):]))
	}
	rest := at + n
	kept, gone := endOf(at), endOf(rest)
	switch {
	case len(with) > 0:
		kept = endOf(at + 1)
	case at == 0 && rest < count: // the next child becomes the first one, which has no separator
		gone = endOf(rest + 1)
	}
	to = le.AppendUint32(to, uint32(count-n+len(with)))
	to = append(to, b[4:4+8*at]...)
	for _, c := range with {
		to = le.AppendUint32(le.AppendUint32(to, c.id), c.count)
	}
	to = append(to, b[4+8*rest:4+8*count]...)
	to = append(to, ends[:4*at]...)
	end := kept
	for i, c := range with {
		if i > 0 {
			end += len(c.separator)
		}
		to = le.AppendUint32(to, uint32(end))
	}
	moved := len(to)
	to = append(to, ends[4*rest:4*count]...)
	if end != gone {
		for last := to[moved:]; len(last) > 0; last = last[4:] {
			le.PutUint32(last, uint32(max(0, int(le.Uint32(last))-gone)+end))
		}
	}
	to = append(to, separators[:kept]...)
	for i, c := range with {
		if i > 0 {
			to = append(to, c.separator...)
		}
	}
	return append(to, separators[gone:]...)
}
