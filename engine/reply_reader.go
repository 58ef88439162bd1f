package engine

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// partReader reads the rest of a state.
type partReader struct {
	rest []byte
	bad  bool
}

func (r *partReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *partReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *partReader) byte() (b byte) {
	if s := r.take(1); s != nil {
		b = s[0]
	}
	return b
}

func (r *partReader) period() int64 {
	n := r.uvarint()
	if n&1 != 0 {
		return int64(n >> 1)
	}
	return int64(min(n>>1, uint64(limits.MaxDuration/1e9)+1)) * 1e9 // a period out of bounds stays so
}
