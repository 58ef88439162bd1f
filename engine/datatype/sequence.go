package datatype

import (
	"encoding/binary"
	"slices"
)

// sequence is strings one after the other. Hashes, lists and sets are made of one:
//
//	offset  size  field
//	0       4     n, the number of strings
//	4       4n    the end of each, counted from the first byte of the first
//	4+4n          the strings
//
// No strings are no bytes.
type sequence []byte

const (
	countBytes = 4
	endBytes   = 4
)

// count is the number of strings.
func (s sequence) count() int {
	if len(s) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s))
}

// end is the end of string i; the end of string -1 is the start of the first.
func (s sequence) end(i int) int {
	if i < 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s[countBytes+endBytes*i:]))
}

func (s sequence) setEnd(i, end int) {
	binary.LittleEndian.PutUint32(s[countBytes+endBytes*i:], uint32(end))
}

// at is string i. It is valid until the sequence changes.
func (s sequence) at(i int) []byte {
	first := headBytes(s.count())
	from, to := first+s.end(i-1), first+s.end(i)
	return s[from:to:to]
}

// headBytes is the size of what precedes n strings.
func headBytes(n int) int {
	if n == 0 {
		return 0
	}
	return countBytes + endBytes*n
}

// splice puts strings in the place of those from from to to-1, in the same bytes if there is room.
func (s sequence) splice(from, to int, strings [][]byte) sequence {
	n := s.count()
	m := n - (to - from) + len(strings)
	if m == 0 {
		return s[:0]
	}
	size := 0
	for _, b := range strings {
		size += len(b)
	}
	start, stop := s.end(from-1), s.end(to-1) // of what goes
	grown := size - (stop - start)
	oldHead, head := headBytes(n), headBytes(m)
	before, after := len(s), len(s)-oldHead+grown+head
	if after > before {
		s = slices.Grow(s, after-before)[:after]
	}
	front := func() { copy(s[head:], s[oldHead:oldHead+start]) }
	back := func() { copy(s[head+start+size:], s[oldHead+stop:before]) }
	if m >= n { // nothing is overwritten before it has moved
		back()
		front()
		for i := n - 1; i >= to; i-- {
			s.setEnd(i+m-n, s.end(i)+grown)
		}
	} else {
		for i := to; i < n; i++ {
			s.setEnd(i+m-n, s.end(i)+grown)
		}
		front()
		back()
	}
	binary.LittleEndian.PutUint32(s, uint32(m))
	at := start
	for i, b := range strings {
		at += copy(s[head+at:], b)
		s.setEnd(from+i, at)
	}
	return s[:after]
}

// valid reports whether no use of the bytes goes beyond them.
func (s sequence) valid() bool {
	if len(s) == 0 {
		return true
	}
	if len(s) < countBytes {
		return false
	}
	n := s.count()
	if n == 0 || n > (len(s)-countBytes)/endBytes {
		return false
	}
	for i := range n {
		if s.end(i) < s.end(i-1) {
			return false
		}
	}
	return s.end(n-1) == len(s)-headBytes(n)
}

// Size is the most bytes that strings add to a hash, list or set.
func Size(strings [][]byte) int {
	size := countBytes
	for _, b := range strings {
		size += endBytes + len(b)
	}
	return size
}
