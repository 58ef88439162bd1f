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
//	20      1     0x01 once it is settled; 0x02 once it is extended
//	21      4     length of the rest
//	25      n     varints granted and wait; once it is extended, varints of its Extensions; then the limits
//
// A limit is a byte of its algorithm; a byte of flags and its span; varints of the capacity, of the tokens of a rate,
// and, after a byte of the number of segments where the algorithm has them, of the period, as [appendPeriod] writes it;
// or, where the bits of the span are all set, in place of the period a
// byte of the span, and varints of the zone and the beginning of the windows, but with [limits.HasHistory] on that
// byte, the History in front of them and the period behind; behind that or the period, of a limit that warns,
// a byte of the percentage: the algorithm's highest bit is then set; the amount that it was charged; the mark of a
// window, and with [hasMarks] on the algorithm's byte further marks, as [appendMarks] writes them; the key, and the holder of a lease, the member of a fair share or the assured rate of a class, each behind a
// varint of its length.
//
// A mark distinguishes windows: an amount goes back only to the window that it was taken in.
type State []byte

// The bits of the byte at flagsAt.
const (
	isSettled  = 0x01
	isExtended = 0x02
)

const flagsAt = 20

// Head is the number of bytes of a reservation before its parts.
const Head = 25

// Extensions are the extensions of a reservation that were granted, and the last of them.
type Extensions struct {
	Count   uint32
	Granted int64 // by the last
	Wait    int64 // of the last, nanoseconds
	Total   int64 // granted by the request and all its extensions
}

// Contents are what a state has before its limits.
type Contents struct {
	End         int64 // see [State.End]
	Fingerprint uint64
	Granted     int64 // by the request
	Wait        int64 // of the request, nanoseconds
	Settled     bool
	Extensions  Extensions
}

// Begin appends the beginning of a new state to b, without its size. The limits follow, and then [Finish] is called.
func Begin(b []byte, c *Contents) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(c.End))
	b = binary.LittleEndian.AppendUint64(b, c.Fingerprint)
	flags := byte(0)
	if c.Settled {
		flags |= isSettled
	}
	if c.Extensions.Count > 0 {
		flags |= isExtended
	}
	b = append(b, flags, 0, 0, 0, 0)
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(c.Granted)), uint64(c.Wait))
	if e := &c.Extensions; e.Count > 0 {
		for _, n := range [...]int64{int64(e.Count), e.Granted, e.Wait, e.Total} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

// Finish completes a state that [Begin] has begun, and reports whether it is not too large.
func Finish(b []byte) (fits bool) {
	const before = Head - layout.VariableHead
	binary.LittleEndian.PutUint32(b[before-4:], uint32(len(b)-before))
	return len(b) <= maxBytes
}

// End is the time from which the reservation is forgotten.
func (r State) End() int64 { return int64(binary.LittleEndian.Uint64(r[4:])) }

// Fingerprint distinguishes requests with other parameters.
func (r State) Fingerprint() uint64 { return binary.LittleEndian.Uint64(r[12:]) }

// IsSettled reports whether the true cost has been charged.
func (r State) IsSettled() bool { return r[flagsAt]&isSettled != 0 }

// MarkSettled says that the true cost has been charged.
func (r State) MarkSettled() { r[flagsAt] |= isSettled }

func (r State) rest() []byte {
	n := int(binary.LittleEndian.Uint32(r[21:]))
	return r[Head : Head+n : Head+n]
}

// maxBytes bounds a state.
const maxBytes = 1 << 20

// Parts reads the number of granted tokens and the wait; the limits are read one after the other.
func (r State) Parts() (granted, wait int64, parts engine.PartReader) {
	c, parts := r.Contents()
	return c.Granted, c.Wait, parts
}

// Contents reads what is before the limits; these are read one after the other. Without an extension, the total is what
// the request was granted.
func (r State) Contents() (c Contents, parts engine.PartReader) {
	parts.Rest = r.rest()
	c.End, c.Fingerprint = r.End(), r.Fingerprint()
	c.Granted, c.Wait = int64(parts.Uvarint()), int64(parts.Uvarint())
	c.Extensions.Total = c.Granted
	if r[flagsAt]&isExtended != 0 {
		count := parts.Uvarint()
		if count < 1 || count > engine.MaxExtensions {
			parts.Fail()
		}
		c.Extensions = Extensions{uint32(count), int64(parts.Uvarint()), int64(parts.Uvarint()), int64(parts.Uvarint())}
	}
	return c, parts
}

// Valid reports whether a state is well-formed.
func Valid(state []byte) bool {
	r := State(state)
	if len(r) < Head || uint64(len(r)-Head) < uint64(binary.LittleEndian.Uint32(r[21:])) || r[flagsAt] > isSettled|isExtended || r.End() < 0 {
		return false
	}
	c, parts := r.Contents()
	if e := &c.Extensions; !isGrant(c.Granted, c.Wait) || !isGrant(e.Granted, e.Wait) || !isGrant(e.Total, 0) {
		return false
	}
	count := 0
	for ; len(parts.Rest) > 0; count++ {
		p := NextPart(&parts)
		if parts.Bad || p.Charged() > limits.MaxTokens || !r.IsSettled() && !p.marksAreValid() || len(p.Key) > engine.MaxKeyBytes || len(p.Who) > engine.MaxHolderBytes {
			return false
		}
	}
	return !parts.Bad && count > 0 && count <= engine.MaxParts
}

func isGrant(tokens, wait int64) bool { return tokens >= 0 && tokens <= limits.MaxTokens && wait >= 0 }

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

// Permits reports whether a settlement or an extension may change the keys of all limits, or else a key that it may not.
func (r State) Permits(op *engine.Op) (key []byte, ok bool) {
	if op.Options&engine.DeclaredOnly == 0 {
		return nil, true
	}
	for _, _, parts := r.Parts(); len(parts.Rest) > 0; {
		key := database.KeyOf(NextPart(&parts).Key)
		if !slices.ContainsFunc(op.Args, func(pattern []byte) bool { return glob.Match(string(pattern), string(key)) }) {
			return key, false
		}
	}
	return nil, true
}
