package algorithm

import (
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// MaxLoans bounds the holders of one key.
const MaxLoans = 16

// loan is tokens set aside for a holder.
type loan struct {
	Holder []byte
	Tokens int64
	number uint64 // of the last operation
	until  int64  // it counts as spent from then on; 0 for no end
}

// Loans are those of one limiter.
type Loans struct{ All []loan }

// A state that wraps that of a limiter:
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     number of loans
//	8       24    the state of the limiter
//	32      ...   of each loan: varint length of the holder, the holder; varints tokens, number, end
//	...           a [layout.History], or nothing
//
// Zeros follow.
const (
	lentInner = 8
	lentHead  = lentInner + MaxLentState

	MaxLentState = windowPairBytes // the largest state that is wrapped
)

// Read reads the loans and the closed windows of a state. It reports false if they are not well-formed.
func (l *Loans) Read(state []byte) (history layout.History, ok bool) {
	l.All = l.All[:0]
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
		return history, false
	}
	for range count {
		size := number()
		if !ok || size == 0 || size > engine.MaxHolderBytes || size > uint64(len(in)) {
			return history, false
		}
		holder := in[:size]
		in = in[size:]
		one := loan{Holder: holder, Tokens: int64(number()), number: number(), until: int64(number())}
		if !ok || one.Tokens <= 0 || one.Tokens > limits.MaxTokens || one.until < 0 || one.number == 0 || l.of(holder) != nil {
			return history, false
		}
		l.All = append(l.All, one)
	}
	history, in, ok = layout.ReadHistory(in)
	return history, ok && !slices.ContainsFunc(in, func(b byte) bool { return b != 0 })
}

// appendTo appends a state that wraps a limiter's own, with the loans, and with room for n closed windows, to b.
func (l *Loans) appendTo(b, inner []byte, history *layout.History, n uint8) []byte {
	b = append(b, make([]byte, lentHead)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(l.All)))
	copy(b[lentInner:], inner)
	for i := range l.All {
		one := &l.All[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.Holder))), one.Holder...)
		b = binary.AppendUvarint(b, uint64(one.Tokens))
		b = binary.AppendUvarint(b, one.number)
		b = binary.AppendUvarint(b, uint64(one.until))
	}
	if n > 0 {
		b = history.Append(b, n)
	}
	for len(b)%engine.RecordAlign != 0 {
		b = append(b, 0)
	}
	layout.SetVariableSize(b, len(b))
	return b
}

// of is the loan of a holder, nil if it has none.
func (l *Loans) of(holder []byte) *loan {
	for i := range l.All {
		if string(l.All[i].Holder) == string(holder) {
			return &l.All[i]
		}
	}
	return nil
}

// sum is the tokens of all loans.
func (l *Loans) sum() (tokens int64) {
	for i := range l.All {
		tokens += l.All[i].Tokens
	}
	return tokens
}

// end ends the loans whose time is over at now, in the order of their ends: all of their tokens count as spent at that time, which
// is the latest at which they were.
func (l *Loans) end(now int64, spend func(at, tokens int64)) {
	for {
		first := -1
		for i := range l.All {
			if until := l.All[i].until; until != 0 && until <= now && (first < 0 || until < l.All[first].until) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		spend(l.All[first].until, l.All[first].Tokens)
		l.remove(l.All[first].Holder)
	}
}

// put sets a holder's loan. One without tokens is none.
func (l *Loans) put(one loan) {
	switch old := l.of(one.Holder); {
	case one.Tokens == 0:
		l.remove(one.Holder)
	case old != nil:
		*old = one
	default:
		l.All = append(l.All, one)
	}
}

func (l *Loans) remove(holder []byte) {
	l.All = slices.DeleteFunc(l.All, func(x loan) bool { return string(x.Holder) == string(holder) })
}

// nextEnd takes the loan that ends first out of c.ending.
func (c *Call) nextEnd() (next loanEnd) {
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
func undated(c *Call) (tokens int64) {
	c.ending, tokens = c.ending[:0], c.Lent
	if c.Lent == 0 {
		return 0
	}
	for i := range c.Loans.All {
		if l := &c.Loans.All[i]; l.until != 0 {
			c.ending = append(c.ending, loanEnd{l.until, l.Tokens})
			tokens -= l.Tokens
		}
	}
	return tokens
}
