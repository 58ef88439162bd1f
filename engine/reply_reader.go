package engine

import (
	"encoding/binary"
	"math"

	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
)

// PartReader reads numbers and texts one after the other, from a state or from a reply. It is Bad once something was
// missing.
type PartReader struct {
	Rest []byte
	Bad  bool
}

// Uvarint reads a varint.
func (r *PartReader) Uvarint() uint64 {
	if len(r.Rest) > 0 && r.Rest[0] < 0x80 { // most are short
		n := r.Rest[0]
		r.Rest = r.Rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Take reads n bytes. They are not copied.
func (r *PartReader) Take(n uint64) []byte {
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Text reads a varint, and as many bytes. They are not copied.
func (r *PartReader) Text() []byte {
	if len(r.Rest) == 0 || r.Rest[0] >= 0x80 || int(r.Rest[0]) >= len(r.Rest) {
		return r.Take(r.Uvarint())
	}
	end := 1 + int(r.Rest[0]) // most are short
	b := r.Rest[1:end:end]
	r.Rest = r.Rest[end:]
	return b
}

// Byte reads one byte.
func (r *PartReader) Byte() byte {
	if len(r.Rest) == 0 {
		r.Bad = true
		return 0
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b
}

// Fail says that something was missing or is not as it must be. Everything read from then on is zero.
func (r *PartReader) Fail() { r.Rest, r.Bad = nil, true }

// Period reads a duration, in nanoseconds.
func (r *PartReader) Period() int64 {
	n := r.Uvarint()
	if n&1 != 0 {
		return int64(n >> 1)
	}
	return int64(min(n>>1, uint64(limits.MaxDuration/1e9)+1)) * 1e9 // a period out of bounds stays so
}

// Varint reads a varint with a sign, in zigzag.
func (r *PartReader) Varint() int64 {
	n := r.Uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// Limit reads a limit that [limits.Limit.Append] wrote.
func (r *PartReader) Limit() limits.Limit {
	algorithm, span := r.Byte(), r.Byte()
	l := limits.Limit{Algorithm: limits.Algorithm(algorithm), Span: limits.Span(span &^ (limits.HasAnchor | limits.HasWarn | limits.HasHistory))}
	l.Capacity, l.Rate.Tokens, l.Rate.Period = int64(r.Uvarint()), int64(r.Uvarint()), int64(r.Uvarint())
	if l.Algorithm.HasLeast() {
		l.Least = int64(r.Uvarint())
	}
	if l.Algorithm == limits.SlidingSegments {
		l.Segments = r.Byte()
	}
	if l.Algorithm == limits.Penalty {
		r.Ban(&l)
	}
	if span&limits.HasAnchor != 0 {
		if l.Anchor = r.Anchor(); l.Anchor == (calendar.Anchor{}) {
			r.Fail() // it is written without
		}
	}
	if span&limits.HasHistory != 0 {
		r.History(&l) // so is this
	}
	if span&limits.HasWarn != 0 {
		if l.Warn = r.Byte(); l.Warn == 0 {
			r.Fail()
		}
	}
	return l
}

// Ban reads what [limits.Limit.AppendBan] wrote.
func (r *PartReader) Ban(l *limits.Limit) {
	l.Ban, l.LongestBan = int64(r.Uvarint()), int64(r.Uvarint())
}

// History reads what [limits.Limit.AppendHistory] wrote, of a limit with a History.
func (r *PartReader) History(l *limits.Limit) {
	history := r.Byte()
	if l.History = history &^ limits.HasRollover; history != l.History {
		if l.Rollover = r.Byte(); l.Rollover == 0 {
			r.Fail()
		}
	}
	if l.History == 0 {
		r.Fail()
	}
}

// Anchor reads an anchor, as [calendar.Anchor.Append] writes it.
func (r *PartReader) Anchor() calendar.Anchor {
	return calendar.Anchor{Zone: calendar.Zone(r.uint16()), From: calendar.From(r.uint16())}
}

// uint16 reads a varint of at most 16 bits.
func (r *PartReader) uint16() uint16 {
	n := r.Uvarint()
	if n > math.MaxUint16 {
		r.Fail()
		return 0
	}
	return uint16(n)
}
