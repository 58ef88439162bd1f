package algorithm

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Reservation is the state of a granted request that was asked for with an id. Asked again with the same parameters, it is
// answered from here, and nothing is taken; and its amounts can be settled once. The limit of its record has the time that
// it is remembered for as its period.
//
//	offset  size  field
//	0       4     size of the state
//	4       8     end, nanoseconds since the Unix epoch
//	12      8     the first bytes of the SHA-256 of the parameters
//	20      1     1 once it is settled
//	21      4     length of the rest
//	25      n     varints granted and wait; then the limits
//
// A limit is a byte of its algorithm; a byte of flags and its span; varints of the capacity, of the tokens of
// a rate, and of the period, as [appendPeriod] writes it; or, where the bits of the span are all set, in place of the period a byte of the span, and varints of
// the zone and the beginning of the windows, but with [limits.HasHistory] on that byte, a byte of the History in front of them and the period behind; behind that or the period, of a limit that warns, a byte of the percentage: the algorithm's highest bit is then set; the amount that it was charged; the mark of a window; the key, and
// the holder of a lease, the member of a fair share or the assured rate of a class, each behind a varint of its length.
//
// A mark distinguishes windows: an amount goes back only to the window that it was taken in.
type Reservation []byte

// ReservationHead is the number of bytes of a reservation before its parts.
const ReservationHead = 25

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

// End is the time from which the reservation is forgotten.
func (r Reservation) End() int64 { return int64(binary.LittleEndian.Uint64(r[4:])) }

// Fingerprint distinguishes requests with other parameters.
func (r Reservation) Fingerprint() uint64 { return binary.LittleEndian.Uint64(r[12:]) }

// IsSettled reports whether the true cost has been charged.
func (r Reservation) IsSettled() bool { return r[20] != 0 }
func (r Reservation) rest() []byte {
	n := int(binary.LittleEndian.Uint32(r[21:]))
	return r[ReservationHead : ReservationHead+n : ReservationHead+n]
}

// MaxReservation bounds a state.
const MaxReservation = 1 << 20

// ReservedPart is one limit of a reservation.
type ReservedPart struct {
	Limit     limits.Limit
	FixedCost bool
	amount    []byte // where the amount is in the state
	Mark      int64
	Key, Who  []byte
}

// Charged is the number of tokens that the part has taken.
func (p *ReservedPart) Charged() int64 {
	var b [8]byte
	copy(b[:], p.amount)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// SetCharged changes [ReservedPart.Charged] in place.
func (p *ReservedPart) SetCharged(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	copy(p.amount, b[:])
}

// AppendReservedPart appends one limit to the rest of a state.
func AppendReservedPart(b []byte, op *engine.Op, charged, mark int64) []byte {
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
	if Table[l.Algorithm].Mark != nil {
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
	(&ReservedPart{amount: b[start:]}).SetCharged(charged)
	if has&hasMark != 0 {
		b = binary.AppendVarint(b, mark)
	}
	b = AppendText(b, op.Key)
	if has&hasHolder != 0 {
		b = AppendText(b, op.Who)
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
func NextPart(r *engine.PartReader) (p ReservedPart) {
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

// Parts reads the number of granted tokens and the wait; the limits are read one after the other.
func (r Reservation) Parts() (granted, wait int64, parts engine.PartReader) {
	parts.Rest = r.rest()
	granted, wait = int64(parts.Uvarint()), int64(parts.Uvarint())
	return granted, wait, parts
}

func validReservation(state []byte) bool {
	r := Reservation(state)
	if len(r) < ReservationHead || uint64(len(r)-ReservationHead) < uint64(binary.LittleEndian.Uint32(r[21:])) || r[20] > 1 || r.End() < 0 {
		return false
	}
	granted, wait, parts := r.Parts()
	if granted < 0 || granted > limits.MaxTokens || wait < 0 {
		return false
	}
	count := 0
	for ; len(parts.Rest) > 0; count++ {
		p := NextPart(&parts)
		if parts.Bad || p.Charged() > limits.MaxTokens || len(p.Key) > engine.MaxKeyBytes || len(p.Who) > engine.MaxHolderBytes {
			return false
		}
	}
	return !parts.Bad && count > 0 && count <= engine.MaxParts
}

// LimitsAreValid reports whether every limit of a valid state can be decided.
func (r Reservation) LimitsAreValid() bool {
	for _, _, parts := r.Parts(); len(parts.Rest) > 0; {
		p := NextPart(&parts)
		if !p.Limit.IsAskable() || p.Limit.Algorithm.NeedsWho() && len(p.Who) == 0 {
			return false
		}
	}
	return true
}

func reservationExpired(state []byte, _ *limits.Limit, now int64) bool {
	return Reservation(state).End() <= now
}

// lookReservation reports the time until it is forgotten.
func lookReservation(c *Call) { c.Result.Reset = Reservation(c.State).End() - c.Now }

func plainReservation(state []byte, _ int64) []byte {
	return bytes.Clone(state[layout.VariableHead : ReservationHead+len(Reservation(state).rest())])
}

// writeReservation keeps a new reservation: the content of the call is all of its state but the size.
func writeReservation(c *Call, state []byte) {
	clear(state[layout.VariableHead+copy(state[layout.VariableHead:], c.Content):])
}

// NeedReservation is the size of the state that holds the content of a call.
func NeedReservation(c *Call) int { return engine.Align(layout.VariableHead + len(c.Content)) }

// AppendRequest appends the parameters of a request, of which a fingerprint is made.
func AppendRequest(b []byte, op *engine.Op) []byte {
	b = op.Limit.Append(append(b, byte(op.Verb), byte(op.Options)))
	b = binary.AppendVarint(binary.AppendUvarint(b, uint64(op.Tokens)), op.MaxWait)
	b = binary.AppendVarint(b, int64(op.Keep))
	b = AppendText(AppendText(b, op.Key), op.Who)
	if op.Weight != 0 {
		b = binary.AppendUvarint(b, uint64(op.Weight))
	}
	b = binary.AppendUvarint(b, uint64(len(op.Args)))
	for _, arg := range op.Args {
		b = AppendText(b, arg)
	}
	b = binary.AppendUvarint(b, uint64(len(op.Parts)))
	for i := range op.Parts {
		b = AppendRequest(b, &op.Parts[i])
	}
	return b
}

// AppendText appends the length of a text and the text.
func AppendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Permits reports whether a settlement may change the keys of all limits, or else a key that it may not.
func (r Reservation) Permits(settle *engine.Op) (key []byte, ok bool) {
	if settle.Options&engine.DeclaredOnly == 0 {
		return nil, true
	}
	for _, _, parts := r.Parts(); len(parts.Rest) > 0; {
		key := database.KeyOf(NextPart(&parts).Key)
		if !slices.ContainsFunc(settle.Args, func(pattern []byte) bool { return glob.Match(string(pattern), string(key)) }) {
			return key, false
		}
	}
	return nil, true
}
