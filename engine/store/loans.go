package store

import (
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// MaxWaiting bounds the requests that a Lend grants.
const MaxWaiting = 1 << 20

// MaxLoans bounds the holders of one key.
const MaxLoans = 16

// loan is tokens set aside for a holder.
type loan struct {
	holder []byte
	tokens int64
	number uint64 // of the last operation
	until  int64  // it counts as spent from then on; 0 for no end
}

// loans are those of one limiter.
type loans struct{ all []loan }

// lentState is the state of a limiter with loans:
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     number of loans
//	8       24    the state of the limiter without them
//	32      ...   of each loan: varint length of the holder, the holder; varints tokens, number, end
//
// Zeros follow.
const (
	lentInner = 8
	lentHead  = lentInner + maxLentState

	maxLentState = windowPairBytes // the largest state of a limiter without its loans
)

// read reads the loans of a state. It reports false if they are not well-formed.
func (l *loans) read(state []byte) bool {
	l.all = l.all[:0]
	in, ok := state[lentHead:], true
	number := func() uint64 {
		n, size := binary.Uvarint(in)
		if size <= 0 {
			ok = false
			return 0
		}
		in = in[size:]
		return n
	}
	count := binary.LittleEndian.Uint32(state[4:])
	if count > MaxLoans {
		return false
	}
	for range count {
		size := number()
		if !ok || size == 0 || size > engine.MaxHolderBytes || size > uint64(len(in)) {
			return false
		}
		holder := in[:size]
		in = in[size:]
		one := loan{holder: holder, tokens: int64(number()), number: number(), until: int64(number())}
		if !ok || one.tokens <= 0 || one.tokens > limits.MaxTokens || one.until < 0 || one.number == 0 || l.of(holder) != nil {
			return false
		}
		l.all = append(l.all, one)
	}
	return !slices.ContainsFunc(in, func(b byte) bool { return b != 0 })
}

// appendTo appends a state with a limiter's own state and the loans to b.
func (l *loans) appendTo(b, inner []byte) []byte {
	b = append(b, make([]byte, lentHead)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(l.all)))
	copy(b[lentInner:], inner)
	for i := range l.all {
		one := &l.all[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.holder))), one.holder...)
		b = binary.AppendUvarint(b, uint64(one.tokens))
		b = binary.AppendUvarint(b, one.number)
		b = binary.AppendUvarint(b, uint64(one.until))
	}
	for len(b)%engine.RecordAlign != 0 {
		b = append(b, 0)
	}
	setVariableSize(b, len(b))
	return b
}

// of is the loan of a holder, nil if it has none.
func (l *loans) of(holder []byte) *loan {
	for i := range l.all {
		if string(l.all[i].holder) == string(holder) {
			return &l.all[i]
		}
	}
	return nil
}

// sum is the tokens of all loans.
func (l *loans) sum() (tokens int64) {
	for i := range l.all {
		tokens += l.all[i].tokens
	}
	return tokens
}

// end ends the loans whose time is over at now, in the order of their ends: all of their tokens count as spent at that time, which
// is the latest at which they were.
func (l *loans) end(now int64, spend func(at, tokens int64)) {
	for {
		first := -1
		for i := range l.all {
			if until := l.all[i].until; until != 0 && until <= now && (first < 0 || until < l.all[first].until) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		spend(l.all[first].until, l.all[first].tokens)
		l.remove(l.all[first].holder)
	}
}

// put sets a holder's loan. One without tokens is none.
func (l *loans) put(one loan) {
	switch old := l.of(one.holder); {
	case one.tokens == 0:
		l.remove(one.holder)
	case old != nil:
		*old = one
	default:
		l.all = append(l.all, one)
	}
}

func (l *loans) remove(holder []byte) {
	l.all = slices.DeleteFunc(l.all, func(x loan) bool { return string(x.holder) == string(holder) })
}

// openLent fills c from the state of a limiter with loans.
func (c *call) openLent(limit *limits.Limit, state []byte) {
	if c.loans == nil {
		c.loans = new(loans)
	}
	base := &algorithms[limit.Algorithm.Base()]
	under := *limit
	under.Algorithm = limit.Algorithm.Base()
	c.loans.read(state) // it was checked when it came in
	c.inner = [maxLentState]byte(state[lentInner:lentHead])
	c.loans.end(c.now, func(at, tokens int64) { base.charge(c.inner[:], &under, at, tokens) })
	if len(c.loans.all) == 0 && base.expired(c.inner[:], &under, c.now) {
		return // as if there were no record: a replica may have dropped it
	}
	c.lent, c.hasLoans = c.loans.sum(), true
	c.prev, c.state, c.isNew = under, c.inner[:base.bytes], false
}

// lentState is the whole state of the limiter of c, whose own state is inner, and the limit that it is kept under.
func (c *call) lentState(inner []byte) (limits.Limit, []byte) {
	limit := c.limit
	limit.Algorithm = limit.Algorithm.Lent()
	c.raw = c.loans.appendTo(c.raw[:0], inner)
	return limit, c.raw
}

// nextEnd takes the loan that ends first out of c.ending.
func (c *call) nextEnd() (next loanEnd) {
	first := 0
	for i := range c.ending {
		if c.ending[i].at < c.ending[first].at {
			first = i
		}
	}
	next = c.ending[first]
	c.ending[first] = c.ending[len(c.ending)-1]
	c.ending = c.ending[:len(c.ending)-1]
	return next
}

// undated returns the tokens of the loans without an end. Those with an end are left in c.ending.
func (c *call) undated() (tokens int64) {
	c.ending, tokens = c.ending[:0], c.lent
	if c.lent == 0 {
		return 0
	}
	for i := range c.loans.all {
		if l := &c.loans.all[i]; l.until != 0 {
			c.ending = append(c.ending, loanEnd{l.until, l.tokens})
			tokens -= l.tokens
		}
	}
	return tokens
}
