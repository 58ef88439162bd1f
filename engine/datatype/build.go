package datatype

import "encoding/binary"

// SequenceBytes is the size of a list, set or hash of n strings with these bytes together. A hash has two for a field.
func SequenceBytes(n, bytes int) int { return headBytes(n) + bytes }

// SortedSetBytes is the size of a sorted set of n members with these bytes together.
func SortedSetBytes(n, bytes int) int { return sortedSetHead + n*scoredSize + bytes }

// SequenceWriter writes a list, set or hash of which the number of strings and their bytes are known before.
type SequenceWriter struct {
	s        sequence
	n, start int
}

// NewSequence begins a list, set or hash of n strings with these bytes together.
func NewSequence(n, bytes int) *SequenceWriter {
	w := &SequenceWriter{s: make(sequence, headBytes(n), headBytes(n)+bytes), start: headBytes(n)}
	if n > 0 {
		binary.LittleEndian.PutUint32(w.s, uint32(n))
	}
	return w
}

// Add adds a string.
func (w *SequenceWriter) Add(b []byte) {
	w.s = append(w.s, b...)
	w.s.setEnd(w.n, len(w.s)-w.start)
	w.n++
}

// Bytes returns what was written.
func (w *SequenceWriter) Bytes() []byte { return w.s }

// SortedSetWriter writes a sorted set of which the number of members and their bytes are known before.
type SortedSetWriter struct{ p packer }

// NewSortedSet begins a sorted set of n members with these bytes together.
func NewSortedSet(n, bytes int) *SortedSetWriter { return &SortedSetWriter{newPacker(n, bytes)} }

// Add adds a member, in the order of the set.
func (w *SortedSetWriter) Add(member []byte, score float64) { w.p.add(member, score, hashOf(member)) }

// Set returns what was written.
func (w *SortedSetWriter) Set() SortedSet { return w.p.set }
