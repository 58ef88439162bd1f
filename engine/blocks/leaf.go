package blocks

import (
	"bytes"
	"encoding/binary"
)

// A leaf is elements one after the other: the length of the key, in a tree with values the length of the value, both as
// varints, then the key and the value.

// Element is an element of a tree. Its bytes are valid until the tree changes.
type Element struct{ Key, Value []byte }

// next returns the first element of a leaf, and what follows it.
func (e *Editor) next(leaf []byte) (first Element, rest []byte) {
	key, value, end := spanOf(leaf, 0, e.Valued)
	return Element{leaf[key:value:value], leaf[value:end:end]}, leaf[end:]
}

// spanOf returns where the key and the value of the element at an offset of a leaf begin, and where the element ends.
func spanOf(leaf []byte, at int, valued bool) (key, value, end int) {
	size, length := int(leaf[at]), 0
	if key = at + 1; valued {
		key, length = at+2, int(leaf[at+1])
	}
	if size|length >= 0x80 { // a length of several bytes
		long, n := binary.Uvarint(leaf[at:])
		size, length, key = int(long), 0, at+n
		if valued {
			long, n = binary.Uvarint(leaf[key:])
			length, key = int(long), key+n
		}
	}
	return key, key + size, key + size + length
}

// append appends an element to a leaf.
func (e *Editor) append(leaf []byte, x Element) []byte {
	leaf = binary.AppendUvarint(leaf, uint64(len(x.Key)))
	if e.Valued {
		leaf = binary.AppendUvarint(leaf, uint64(len(x.Value)))
	}
	return append(append(leaf, x.Key...), x.Value...)
}

// skip returns the bytes of the first n elements of a leaf.
func (e *Editor) skip(leaf []byte, n int) (bytes int) {
	valued := e.Valued
	for range n {
		if size := leaf[bytes]; size < 0x80 && !valued { // most elements of lists, where this loop takes long
			bytes += 1 + int(size)
		} else {
			_, _, bytes = spanOf(leaf, bytes, valued)
		}
	}
	return bytes
}

// search returns where in a leaf a key is or would be: the number of elements before it, and their bytes.
func (e *Editor) search(leaf, key []byte) (before, at int, x Element, found bool) {
	for at < len(leaf) {
		start, value, end := spanOf(leaf, at, e.Valued)
		if order := bytes.Compare(leaf[start:value], key); order >= 0 {
			return before, at, Element{leaf[start:value:value], leaf[value:end:end]}, order == 0
		}
		at = end
		before++
	}
	return before, at, x, false
}

// piece is a part of a leaf, with the number of its elements.
type piece struct {
	bytes []byte
	count int
}

// divide divides a leaf until no part is too large, or has more than one element. The first cut is after some elements
// if that is not 0, else in the middle.
func (e *Editor) divide(leaf []byte, count, firstCut int) (all []piece) {
	all = append(e.pieces[:0], piece{leaf, count})
	for i := 0; i < len(all); {
		p := all[i]
		if p.count < 2 || len(p.bytes) <= leafBytes {
			i++
			continue
		}
		n, at := firstCut, 0
		if firstCut = 0; n == 0 {
			n = half(e, p)
		}
		at = e.skip(p.bytes, n)
		all = append(all, piece{})
		copy(all[i+1:], all[i:])
		all[i], all[i+1] = piece{p.bytes[:at], n}, piece{p.bytes[at:], p.count - n}
	}
	e.pieces = all
	return all
}

// half returns the number of elements in the first half of the bytes of a piece, which has at least two: at least one,
// and not all.
func half(e *Editor, p piece) (n int) {
	rest := p.bytes
	for ; n < p.count-1; n++ {
		if _, rest = e.next(rest); n > 0 && len(p.bytes)-len(rest) > len(p.bytes)/2 {
			break
		}
	}
	return n
}

// separatorOf returns the shortest key that is above all of one piece and not above any of the next.
func (e *Editor) separatorOf(left, right piece) []byte {
	if !e.Keyed {
		return nil
	}
	last, _ := e.next(left.bytes[e.skip(left.bytes, left.count-1):])
	first, _ := e.next(right.bytes)
	n := 0
	for n < len(last.Key) && last.Key[n] == first.Key[n] {
		n++
	}
	return bytes.Clone(first.Key[:n+1])
}
