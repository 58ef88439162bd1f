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

	hasWarn  = 0x80 // in the byte of the algorithm
	hasMarks = 0x40 // also there: marks of extensions follow the first
	hasElse  = 1    // of a balance, in place of the span
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
	Else      bool   // it is the balance after ELSE
	amount    []byte // where the amount is in the state
	mark      int64  // of the first grant
	marks     []byte // of extensions, as appendMarks writes them
	Key, Who  []byte
}

// Mark says of some tokens of a part from which window they were taken.
type Mark struct {
	At     int64 // the mark of the algorithm, 0 where it has none
	Tokens int64
}

// AppendMarks appends the marks of a part that is not settled, oldest first. The sum of their tokens is [Part.Charged].
func (p *Part) AppendMarks(marks []Mark) []Mark {
	first, rest, at := len(marks), p.Charged(), p.mark
	marks = append(marks, Mark{At: p.mark})
	for r := (engine.PartReader{Rest: p.marks}); len(r.Rest) > 0; {
		at += r.Varint()
		tokens := int64(r.Uvarint())
		marks, rest = append(marks, Mark{at, tokens}), rest-tokens
	}
	marks[first].Tokens = rest
	return marks
}

// marksAreValid reports whether no more tokens have marks than the part has taken.
func (p *Part) marksAreValid() bool {
	rest := p.Charged()
	for r := (engine.PartReader{Rest: p.marks}); len(r.Rest) > 0; {
		r.Varint()
		rest -= int64(r.Uvarint())
	}
	return rest >= 0
}

// AddMark adds a grant under a limit to the marks, which begin with the oldest. Tokens of windows that are over when
// the grant is made can go back nowhere: they are one entry, with the mark 0. All credits of a balance are one entry,
// because they go back in the order of the grants' expiries, whenever they were taken.
func AddMark(marks []Mark, l *limits.Limit, added Mark) []Mark {
	if l.Algorithm == limits.Balance && len(marks) > 0 {
		marks[0] = Mark{At: max(marks[0].At, added.At), Tokens: marks[0].Tokens + added.Tokens}
		return marks
	}
	for i := range marks {
		if marks[i].At == added.At {
			marks[i].Tokens += added.Tokens
			return marks
		}
	}
	over, n := int64(0), 0
	for ; n < len(marks) && isOver(l, marks[n].At, added.At); n++ {
		over += marks[n].Tokens
	}
	if over > 0 {
		n--
		marks[n] = Mark{Tokens: over}
	}
	return append(marks[n:], added)
}

// isOver reports whether tokens with a mark count nowhere any more once a grant has the newest mark.
func isOver(l *limits.Limit, mark, newest int64) bool {
	if l.Algorithm.IsPurse() { // home counts them as spent
		return true
	}
	switch l.Algorithm {
	case limits.FixedWindow:
		return l.History == 0
	case limits.SlidingWindow:
		return mark < newest-l.Rate.Period
	case limits.SlidingSegments:
		return mark < newest-2*l.Rate.Period
	case limits.SlidingLog:
		return mark <= newest-l.Rate.Period
	}
	return false
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

// AppendPart appends one limit to the rest of a state, with the marks of the tokens that it has taken if its algorithm
// has marks.
func AppendPart(b []byte, op *engine.Op, charged int64, marks []Mark) []byte {
	l := &op.Limit
	has := byte(l.Span)
	if l.Anchor != (calendar.Anchor{}) || has >= hasSpan || l.History > 0 {
		has = hasSpan
	}
	if op.Options&engine.FixedCost != 0 {
		has |= hasFixedCost
	}
	if op.IsElse() {
		has |= hasElse
	}
	if l.Algorithm.HasRate() {
		has |= hasRate
	}
	if len(marks) > 0 {
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
	if len(marks) > 1 || len(marks) > 0 && l.Algorithm.IsPurse() {
		algorithm |= hasMarks // also of the one mark of a purse's tokens, so that 0.2.0, which cannot give them back, refuses the state
	}
	b = appendParameters(append(b, algorithm, has), l, has)
	start, size := len(b), int(amountBytes(has))
	b = append(b, 0, 0, 0, 0, 0)[:start+size]
	(&Part{amount: b[start:]}).SetCharged(charged)
	if has&hasMark != 0 {
		b = binary.AppendVarint(b, marks[0].At)
	}
	if algorithm&hasMarks != 0 {
		b = appendMarks(b, marks)
	}
	b = layout.AppendText(b, op.Key)
	if has&hasHolder != 0 {
		b = layout.AppendText(b, op.Who)
	}
	return b
}

// appendParameters appends the parameters of a limit whose flags are before it.
func appendParameters(b []byte, l *limits.Limit, has byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.Capacity))
	if has&hasRate != 0 {
		b = binary.AppendUvarint(b, uint64(l.Rate.Tokens))
	}
	if has&hasLeast != 0 {
		b = binary.AppendUvarint(b, uint64(l.Least))
	}
	if l.Algorithm == limits.SlidingSegments {
		b = append(b, l.Segments)
	}
	if l.Algorithm == limits.Penalty {
		b = l.AppendBan(b)
	}
	if has&hasSpan == hasSpan {
		b = appendSpan(b, l)
	} else {
		b = appendPeriod(b, l.Rate.Period)
	}
	if l.Warn != 0 {
		b = append(b, l.Warn)
	}
	return b
}

// appendMarks appends the marks after the first: their number, and of each the difference from the one before it, and
// its tokens.
func appendMarks(b []byte, marks []Mark) []byte {
	b = binary.AppendUvarint(b, uint64(len(marks)-1))
	for i, m := range marks[1:] {
		b = binary.AppendUvarint(binary.AppendVarint(b, m.At-marks[i].At), uint64(m.Tokens))
	}
	return b
}

// readMarks returns the bytes of the marks that appendMarks wrote.
func readMarks(r *engine.PartReader) []byte {
	n := r.Uvarint()
	if n >= engine.MaxMarks {
		r.Fail()
	}
	marks := r.Rest
	for range n {
		r.Varint()
		if tokens := r.Uvarint(); tokens > limits.MaxTokens {
			r.Fail()
		}
		if r.Bad {
			return nil
		}
	}
	return marks[:len(marks)-len(r.Rest)]
}

// appendSpan appends the position of windows that needs more than the bits of a flag.
func appendSpan(b []byte, l *limits.Limit) []byte {
	if l.History == 0 {
		return l.Anchor.Append(append(b, byte(l.Span)))
	}
	return appendPeriod(l.Anchor.Append(l.AppendHistory(append(b, byte(l.Span)|limits.HasHistory))), l.Rate.Period)
}

// readSpan reads what appendSpan writes.
func readSpan(r *engine.PartReader, l *limits.Limit) {
	span := r.Byte()
	if l.Span = limits.Span(span &^ limits.HasHistory); span&limits.HasHistory != 0 {
		r.History(l)
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
	p.Read(r)
	return p
}

// Read is [NextPart] into a part whose fields are zero.
func (p *Part) Read(r *engine.PartReader) {
	algorithm, has := r.Byte(), r.Byte()
	p.Limit.Algorithm = limits.Algorithm(algorithm &^ (hasWarn | hasMarks))
	p.FixedCost, p.Limit.Span = has&hasFixedCost != 0, limits.Span(has&hasSpan)
	if p.Limit.Algorithm == limits.Balance {
		p.Else, p.Limit.Span = has&hasElse != 0, 0
	}
	p.Limit.Capacity = int64(r.Uvarint())
	if has&hasRate != 0 {
		p.Limit.Rate.Tokens = int64(r.Uvarint())
	}
	if has&hasLeast != 0 {
		p.Limit.Least = int64(r.Uvarint())
	}
	if p.Limit.Algorithm == limits.SlidingSegments {
		p.Limit.Segments = r.Byte()
	}
	if p.Limit.Algorithm == limits.Penalty {
		r.Ban(&p.Limit)
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
		p.mark = r.Varint()
	}
	if algorithm&hasMarks != 0 {
		p.marks = readMarks(r)
	}
	p.Key = r.Text()
	if has&hasHolder != 0 {
		p.Who = r.Text()
	}
}
