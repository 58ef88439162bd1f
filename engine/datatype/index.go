package datatype

import (
	"bytes"
	"hash/maphash"
)

// index finds the position of a string in a list of different ones. No choice of strings makes it slow.
type index struct {
	slots   []uint32 // position+1 in strings, or 0; the length is a power of two
	strings [][]byte
}

// seed has no effect on the findings.
var seed = maphash.MakeSeed()

// newIndex makes room for n strings.
func newIndex(n int) *index {
	slots := 4
	for slots < 2*n {
		slots *= 2
	}
	return &index{make([]uint32, slots), make([][]byte, 0, n)}
}

// find returns the position of a string, -1 if it is not there.
func (x *index) find(s []byte) int { return int(*x.slot(s)) - 1 }

// add appends a string, unless it is there, and returns its position.
func (x *index) add(s []byte) (position int, added bool) {
	slot := x.slot(s)
	if *slot != 0 {
		return int(*slot) - 1, false
	}
	x.strings = append(x.strings, s)
	*slot = uint32(len(x.strings))
	return len(x.strings) - 1, true
}

// slot is the slot of a string, or the empty one for it.
func (x *index) slot(s []byte) *uint32 {
	mask := uint64(len(x.slots) - 1)
	for at := maphash.Bytes(seed, s); ; at++ {
		slot := &x.slots[at&mask]
		if *slot == 0 || bytes.Equal(x.strings[*slot-1], s) {
			return slot
		}
	}
}
