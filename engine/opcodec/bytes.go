package opcodec

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// byteReader takes numbers and texts off the front of bytes. Once something did not fit it is bad, and gives zeros.
type byteReader struct {
	rest []byte
	bad  bool
}

func (r *byteReader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *byteReader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // most are short
		n := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *byteReader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *byteReader) uint32() uint32 {
	n := r.uvarint()
	if n > 1<<32-1 {
		r.fail()
	}
	return uint32(n)
}

func (r *byteReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *byteReader) limit() limits.Limit {
	l := limits.Limit{Algorithm: limits.Algorithm(r.byte()), Span: limits.Span(r.byte())}
	l.Capacity, l.Rate.Tokens, l.Rate.Period = int64(r.uvarint()), int64(r.uvarint()), int64(r.uvarint())
	if l.Algorithm.HasLeast() {
		l.Least = int64(r.uvarint())
	}
	return l
}

func (r *byteReader) fail() { r.rest, r.bad = nil, true }
