package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/limits"
)

// reservation is the state of a granted request that was asked for with an id. Asked again with the same parameters, it is
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
// a rate, and of the period, as [appendPeriod] writes it; the amount that it was charged; the mark of a window; the key, and
// the holder of a lease, the member of a fair share or the assured rate of a class, each behind a varint of its length.
//
// A mark distinguishes windows: an amount goes back only to the window that it was taken in.
type reservation []byte

const reservationHead = 25

// The flags of a limit of a reservation. The bits below are its span.
const (
	hasFixedCost = 1 << (7 - iota)
	hasRate
	hasMark
	hasHolder
	hasLeast
	hasSpan = hasLeast - 1
)

// amountBytes is the size of an amount, which settling replaces in place.
func amountBytes(has byte) uint64 {
	if has&hasHolder != 0 && has&hasRate == 0 {
		return 1 // a lease
	}
	return 5 // MaxTokens takes 40 bits
}

func (r reservation) end() int64          { return int64(binary.LittleEndian.Uint64(r[4:])) }
func (r reservation) fingerprint() uint64 { return binary.LittleEndian.Uint64(r[12:]) }
func (r reservation) isSettled() bool     { return r[20] != 0 }
func (r reservation) rest() []byte {
	n := int(binary.LittleEndian.Uint32(r[21:]))
	return r[reservationHead : reservationHead+n : reservationHead+n]
}

// maxReservation bounds a state.
const maxReservation = 1 << 20

// reservedPart is one limit of a reservation.
type reservedPart struct {
	limit     limits.Limit
	fixedCost bool
	amount    []byte // where the amount is in the state
	mark      int64
	key, who  []byte
}

func (p *reservedPart) charged() int64 {
	var b [8]byte
	copy(b[:], p.amount)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (p *reservedPart) setCharged(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	copy(p.amount, b[:])
}

// appendReservedPart appends one limit to the rest of a state.
func appendReservedPart(b []byte, op *engine.Op, charged, mark int64) []byte {
	l := &op.Limit
	has := byte(l.Span)
	if op.Options&engine.FixedCost != 0 {
		has |= hasFixedCost
	}
	if l.Algorithm.HasRate() {
		has |= hasRate
	}
	if algorithms[l.Algorithm].mark != nil {
		has |= hasMark
	}
	if l.Algorithm.NeedsWho() || l.Algorithm == limits.Class {
		has |= hasHolder
	}
	if l.Algorithm.HasLeast() {
		has |= hasLeast
	}
	b = binary.AppendUvarint(append(b, byte(l.Algorithm), has), uint64(l.Capacity))
	if has&hasRate != 0 {
		b = binary.AppendUvarint(b, uint64(l.Rate.Tokens))
	}
	if has&hasLeast != 0 {
		b = binary.AppendUvarint(b, uint64(l.Least))
	}
	b = appendPeriod(b, l.Rate.Period)
	start, size := len(b), int(amountBytes(has))
	b = append(b, 0, 0, 0, 0, 0)[:start+size]
	(&reservedPart{amount: b[start:]}).setCharged(charged)
	if has&hasMark != 0 {
		b = binary.AppendVarint(b, mark)
	}
	b = appendText(b, op.Key)
	if has&hasHolder != 0 {
		b = appendText(b, op.Who)
	}
	return b
}

// appendPeriod appends a period: in seconds if it is whole ones, the lowest bit set if not.
func appendPeriod(b []byte, period int64) []byte {
	if period%1e9 == 0 {
		return binary.AppendUvarint(b, uint64(period/1e9)<<1)
	}
	return binary.AppendUvarint(b, uint64(period)<<1|1)
}

func nextPart(r *engine.PartReader) (p reservedPart) {
	p.limit.Algorithm = limits.Algorithm(r.Byte())
	has := r.Byte()
	p.fixedCost, p.limit.Span = has&hasFixedCost != 0, limits.Span(has&hasSpan)
	p.limit.Capacity = int64(r.Uvarint())
	if has&hasRate != 0 {
		p.limit.Rate.Tokens = int64(r.Uvarint())
	}
	if has&hasLeast != 0 {
		p.limit.Least = int64(r.Uvarint())
	}
	p.limit.Rate.Period = r.Period()
	p.amount = r.Take(amountBytes(has))
	if has&hasMark != 0 {
		mark := r.Uvarint()
		p.mark = int64(mark>>1) ^ -int64(mark&1)
	}
	p.key = r.Take(r.Uvarint())
	if has&hasHolder != 0 {
		p.who = r.Take(r.Uvarint())
	}
	return p
}

// parts reads the number of granted tokens and the wait; the limits are read one after the other.
func (r reservation) parts() (granted, wait int64, parts engine.PartReader) {
	parts.Rest = r.rest()
	granted, wait = int64(parts.Uvarint()), int64(parts.Uvarint())
	return granted, wait, parts
}

func validReservation(state []byte) bool {
	r := reservation(state)
	if len(r) < reservationHead || uint64(len(r)-reservationHead) < uint64(binary.LittleEndian.Uint32(r[21:])) || r[20] > 1 || r.end() < 0 {
		return false
	}
	granted, wait, parts := r.parts()
	if granted < 0 || granted > limits.MaxTokens || wait < 0 {
		return false
	}
	count := 0
	for ; len(parts.Rest) > 0; count++ {
		p := nextPart(&parts)
		if parts.Bad || p.charged() > limits.MaxTokens || len(p.key) > engine.MaxKeyBytes || len(p.who) > engine.MaxHolderBytes {
			return false
		}
	}
	return !parts.Bad && count > 0 && count <= engine.MaxParts
}

// limitsAreValid reports whether every limit of a valid state can be decided.
func (r reservation) limitsAreValid() bool {
	for _, _, parts := r.parts(); len(parts.Rest) > 0; {
		p := nextPart(&parts)
		if !p.limit.IsAskable() || p.limit.Algorithm.NeedsWho() && len(p.who) == 0 {
			return false
		}
	}
	return true
}

func reservationExpired(state []byte, _ *limits.Limit, now int64) bool {
	return reservation(state).end() <= now
}

// lookReservation reports the time until it is forgotten.
func lookReservation(c *call) { c.result.Reset = reservation(c.state).end() - c.now }

func plainReservation(state []byte, _ int64) []byte {
	return bytes.Clone(state[variableHead : reservationHead+len(reservation(state).rest())])
}

// writeReservation keeps a new reservation: the content of the call is all of its state but the size.
func writeReservation(c *call, state []byte) {
	clear(state[variableHead+copy(state[variableHead:], c.content):])
}

func needReservation(c *call) int { return engine.Align(variableHead + len(c.content)) }

func appendRequest(b []byte, op *engine.Op) []byte {
	b = op.Limit.Append(append(b, byte(op.Verb), byte(op.Options)))
	b = binary.AppendVarint(binary.AppendUvarint(b, uint64(op.Tokens)), op.MaxWait)
	b = binary.AppendVarint(b, int64(op.Keep))
	b = appendText(appendText(b, op.Key), op.Who)
	if op.Weight != 0 {
		b = binary.AppendUvarint(b, uint64(op.Weight))
	}
	b = binary.AppendUvarint(b, uint64(len(op.Args)))
	for _, arg := range op.Args {
		b = appendText(b, arg)
	}
	b = binary.AppendUvarint(b, uint64(len(op.Parts)))
	for i := range op.Parts {
		b = appendRequest(b, &op.Parts[i])
	}
	return b
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// permits reports whether a settlement may change the keys of all limits, or else a key that it may not.
func (r reservation) permits(settle *engine.Op) (key []byte, ok bool) {
	if settle.Options&engine.DeclaredOnly == 0 {
		return nil, true
	}
	for _, _, parts := r.parts(); len(parts.Rest) > 0; {
		key := nextPart(&parts).key
		if !slices.ContainsFunc(settle.Args, func(pattern []byte) bool { return glob.Match(string(pattern), string(key)) }) {
			return key, false
		}
	}
	return nil, true
}
