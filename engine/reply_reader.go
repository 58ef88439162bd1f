package engine

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// PartReader reads the rest of a state.
type PartReader struct {
	Rest []byte
	Bad  bool
}

// Uvarint reads a varint.
func (r *PartReader) Uvarint() uint64 {
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 {
		r.Rest, r.Bad = nil, true
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Take reads n bytes, which belong to what is read.
func (r *PartReader) Take(n uint64) []byte {
	if n > uint64(len(r.Rest)) {
		r.Rest, r.Bad = nil, true
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Byte reads one byte.
func (r *PartReader) Byte() (b byte) {
	if s := r.Take(1); s != nil {
		b = s[0]
	}
	return b
}

// Period reads a duration, in nanoseconds.
func (r *PartReader) Period() int64 {
	n := r.Uvarint()
	if n&1 != 0 {
		return int64(n >> 1)
	}
	return int64(min(n>>1, uint64(limits.MaxDuration/1e9)+1)) * 1e9 // a period out of bounds stays so
}
