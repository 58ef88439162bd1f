package opcodec

import (
	"github.com/stintdb/stint/engine"
)

// byteReader takes numbers, texts and limits off the front of bytes. Once something did not fit it is bad, and gives
// zeros.
type byteReader struct{ engine.PartReader }

func readerOf(in []byte) byteReader { return byteReader{engine.PartReader{Rest: in}} }

func (r *byteReader) uint32() uint32 {
	n := r.Uvarint()
	if n > 1<<32-1 {
		r.Fail()
	}
	return uint32(n)
}
