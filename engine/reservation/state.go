package reservation

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// State is that of a granted request that was asked for with an id. Asked again with the same parameters, it is
// answered from here, and nothing is taken; and its amounts can be settled once. The limit of its record has the time
// that it is remembered for as its period.
//
//	offset  size  field
//	0       4     size of the state
//	4       8     end, nanoseconds since the Unix epoch
//	12      8     the first bytes of the SHA-256 of the parameters
//	20      1     1 once it is settled
//	21      4     length of the rest
//	25      n     varints granted and wait; then the limits
//
// A limit is a byte of its algorithm; a byte of flags and its span; varints of the capacity, of the tokens of a rate,
// and of the period, as [appendPeriod] writes it; or, where the bits of the span are all set, in place of the period a
// byte of the span, and varints of the zone and the beginning of the windows, but with [limits.HasHistory] on that
// byte, a byte of the History in front of them and the period behind; behind that or the period, of a limit that warns,
// a byte of the percentage: the algorithm's highest bit is then set; the amount that it was charged; the mark of a
// window; the key, and the holder of a lease, the member of a fair share or the assured rate of a class, each behind a
// varint of its length.
//
// A mark distinguishes windows: an amount goes back only to the window that it was taken in.
type State []byte

// Head is the number of bytes of a reservation before its parts.
const Head = 25

// End is the time from which the reservation is forgotten.
func (r State) End() int64 { return int64(binary.LittleEndian.Uint64(r[4:])) }

// Fingerprint distinguishes requests with other parameters.
func (r State) Fingerprint() uint64 { return binary.LittleEndian.Uint64(r[12:]) }

// IsSettled reports whether the true cost has been charged.
func (r State) IsSettled() bool { return r[20] != 0 }
func (r State) rest() []byte {
	n := int(binary.LittleEndian.Uint32(r[21:]))
	return r[Head : Head+n : Head+n]
}

// MaxBytes bounds a state.
const MaxBytes = 1 << 20

// Parts reads the number of granted tokens and the wait; the limits are read one after the other.
func (r State) Parts() (granted, wait int64, parts engine.PartReader) {
	parts.Rest = r.rest()
	granted, wait = int64(parts.Uvarint()), int64(parts.Uvarint())
	return granted, wait, parts
}

// Valid reports whether a state is well-formed.
func Valid(state []byte) bool {
	r := State(state)
	if len(r) < Head || uint64(len(r)-Head) < uint64(binary.LittleEndian.Uint32(r[21:])) || r[20] > 1 || r.End() < 0 {
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
func (r State) LimitsAreValid() bool {
	for _, _, parts := r.Parts(); len(parts.Rest) > 0; {
		p := NextPart(&parts)
		if !p.Limit.IsAskable() || p.Limit.Algorithm.NeedsWho() && len(p.Who) == 0 {
			return false
		}
	}
	return true
}

// Plain is a copy of the contents of a state, independent of the layout in memory.
func Plain(state []byte, _ int64) []byte {
	return bytes.Clone(state[layout.VariableHead : Head+len(State(state).rest())])
}

// Permits reports whether a settlement may change the keys of all limits, or else a key that it may not.
func (r State) Permits(settle *engine.Op) (key []byte, ok bool) {
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
