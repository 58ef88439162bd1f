package opcodec

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// byteReader takes numbers, texts and limits off the front of bytes. Once something did not fit it is bad, and gives zeros.
type byteReader struct{ engine.PartReader }

func readerOf(in []byte) byteReader { return byteReader{engine.PartReader{Rest: in}} }

func (r *byteReader) varint() int64 {
	n := r.Uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *byteReader) uint32() uint32 {
	n := r.Uvarint()
	if n > 1<<32-1 {
		r.Fail()
	}
	return uint32(n)
}

func (r *byteReader) limit() limits.Limit {
	l := limits.Limit{Algorithm: limits.Algorithm(r.Byte()), Span: limits.Span(r.Byte())}
	l.Capacity, l.Rate.Tokens, l.Rate.Period = int64(r.Uvarint()), int64(r.Uvarint()), int64(r.Uvarint())
	if l.Algorithm.HasLeast() {
		l.Least = int64(r.Uvarint())
	}
	return l
}
