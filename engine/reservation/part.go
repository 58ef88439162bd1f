package reservation

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// The flags of a limit of a reservation. The bits below are its span.
const (
	hasFixedCost = 1 << (7 - iota)
	hasRate
	hasMark
	hasHolder
	hasLeast
	hasSpan = hasLeast - 1

	hasWarn = 0x80 // in the byte of the algorithm
)

// amountBytes is the size of an amount, which settling replaces in place.
func amountBytes(has byte) uint64 {
	if has&hasHolder != 0 && has&hasRate == 0 {
		return 1 // a lease
	}
	return 5 // MaxTokens takes 40 bits
}

// Part is one limit of a reservation.
type Part struct {
	Limit     limits.Limit
	FixedCost bool
	amount    []byte // where the amount is in the state
	Mark      int64
	Key, Who  []byte
}

// Charged is the number of tokens that the part has taken.
func (p *Part) Charged() int64 {
	var b [8]byte
	copy(b[:], p.amount)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// SetCharged changes [Part.Charged] in place.
func (p *Part) SetCharged(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	copy(p.amount, b[:])
}

// AppendPart appends one limit to the rest of a state; hasItsMark reports that of its algorithm's grants a mark is
// kept.
func AppendPart(b []byte, op *engine.Op, charged, mark int64, hasItsMark bool) []byte {
	l := &op.Limit
	has := byte(l.Span)
	if l.Anchor != (calendar.Anchor{}) || has >= hasSpan || l.History > 0 {
		has = hasSpan
	}
	if op.Options&engine.FixedCost != 0 {
		has |= hasFixedCost
	}
	if l.Algorithm.HasRate() {
		has |= hasRate
	}
	if hasItsMark {
		has |= hasMark
	}
	if l.Algorithm.NeedsWho() || l.Algorithm == limits.Class {
		has |= hasHolder
	}
	if l.Algorithm.HasLeast() {
		has |= hasLeast
	}
	algorithm := byte(l.Algorithm)
	if l.Warn != 0 {
		algorithm |= hasWarn
	}
	b = binary.AppendUvarint(append(b, algorithm, has), uint64(l.Capacity))
	if has&hasRate != 0 {
		b = binary.AppendUvarint(b, uint64(l.Rate.Tokens))
	}
	if has&hasLeast != 0 {
		b = binary.AppendUvarint(b, uint64(l.Least))
	}
	if has&hasSpan == hasSpan {
		b = appendSpan(b, l)
	} else {
		b = appendPeriod(b, l.Rate.Period)
	}
	if l.Warn != 0 {
		b = append(b, l.Warn)
	}
	start, size := len(b), int(amountBytes(has))
	b = append(b, 0, 0, 0, 0, 0)[:start+size]
	(&Part{amount: b[start:]}).SetCharged(charged)
	if has&hasMark != 0 {
		b = binary.AppendVarint(b, mark)
	}
	b = layout.AppendText(b, op.Key)
	if has&hasHolder != 0 {
		b = layout.AppendText(b, op.Who)
	}
	return b
}

// appendSpan appends the position of windows that needs more than the bits of a flag.
func appendSpan(b []byte, l *limits.Limit) []byte {
	if l.History == 0 {
		return l.Anchor.Append(append(b, byte(l.Span)))
	}
	return appendPeriod(l.Anchor.Append(append(b, byte(l.Span)|limits.HasHistory, l.History)), l.Rate.Period)
}

// readSpan reads what appendSpan writes.
func readSpan(r *engine.PartReader, l *limits.Limit) {
	span := r.Byte()
	if l.Span = limits.Span(span &^ limits.HasHistory); span&limits.HasHistory != 0 {
		l.History = r.Byte()
	}
	if l.Anchor = r.Anchor(); l.History > 0 {
		l.Rate.Period = r.Period()
	}
}

// appendPeriod appends a period: in seconds if it is whole ones, the lowest bit set if not.
func appendPeriod(b []byte, period int64) []byte {
	if period%1e9 == 0 {
		return binary.AppendUvarint(b, uint64(period/1e9)<<1)
	}
	return binary.AppendUvarint(b, uint64(period)<<1|1)
}

// NextPart reads a part of a reservation.
func NextPart(r *engine.PartReader) (p Part) {
	algorithm, has := r.Byte(), r.Byte()
	p.Limit.Algorithm = limits.Algorithm(algorithm &^ hasWarn)
	p.FixedCost, p.Limit.Span = has&hasFixedCost != 0, limits.Span(has&hasSpan)
	p.Limit.Capacity = int64(r.Uvarint())
	if has&hasRate != 0 {
		p.Limit.Rate.Tokens = int64(r.Uvarint())
	}
	if has&hasLeast != 0 {
		p.Limit.Least = int64(r.Uvarint())
	}
	if has&hasSpan == hasSpan {
		readSpan(r, &p.Limit)
	} else {
		p.Limit.Rate.Period = r.Period()
	}
	if algorithm&hasWarn != 0 {
		p.Limit.Warn = r.Byte()
	}
	p.amount = r.Take(amountBytes(has))
	if has&hasMark != 0 {
		mark := r.Uvarint()
		p.Mark = int64(mark>>1) ^ -int64(mark&1)
	}
	p.Key = r.Take(r.Uvarint())
	if has&hasHolder != 0 {
		p.Who = r.Take(r.Uvarint())
	}
	return p
}
