package layout

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Bounds of the holders of one key.
const (
	MaxLoans = 64
	FewLoans = 16 // as long as some replica knows no more
)

// Loan is tokens set aside for a holder.
type Loan struct {
	Holder []byte
	Tokens int64
	Number uint64 // of the last operation
	Until  int64  // it counts as spent from then on; 0 for no end
}

// Loans are the loans of one limiter.
type Loans struct{ All []Loan }

// A state that wraps the state of a limiter:
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     number of loans
//	8       24    the state of the limiter
//	32      ...   of each loan: varint length of the holder, the holder; varints tokens, number, end
//	...           a [History], or nothing
//
// Zeros follow.
const (
	WrappedAt    = 8
	WrappingHead = WrappedAt + MaxLentState

	MaxLentState = 24 // the largest state that is wrapped: a window
)

// Read reads the loans and the closed windows of a state. It reports false if they are not well-formed.
func (l *Loans) Read(state []byte) (history History, ok bool) {
	l.All = l.All[:0]
	in, ok := state[WrappingHead:], true
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
		one := Loan{Holder: holder, Tokens: int64(number()), Number: number(), Until: int64(number())}
		if !ok || one.Tokens <= 0 || one.Tokens > limits.MaxTokens || one.Until < 0 || one.Number == 0 {
			return history, false
		}
		l.All = append(l.All, one)
	}
	history, in, ok = ReadHistory(in)
	return history, ok && !slices.ContainsFunc(in, func(b byte) bool { return b != 0 })
}

// AppendTo appends a state that wraps a limiter's own, with the loans, and with room for n closed windows, to b.
func (l *Loans) AppendTo(b, inner []byte, history *History, n uint8) []byte {
	b = append(b, make([]byte, WrappingHead)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(l.All)))
	copy(b[WrappedAt:], inner)
	for i := range l.All {
		one := &l.All[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.Holder))), one.Holder...)
		b = binary.AppendUvarint(b, uint64(one.Tokens))
		b = binary.AppendUvarint(b, one.Number)
		b = binary.AppendUvarint(b, uint64(one.Until))
	}
	if n > 0 {
		b = history.Append(b, n)
	}
	for len(b)%engine.RecordAlign != 0 {
		b = append(b, 0)
	}
	SetVariableSize(b, len(b))
	return b
}

// AreDistinct reports whether each loan has a holder of its own.
func (l *Loans) AreDistinct() bool {
	for i := range l.All {
		if l.Of(l.All[i].Holder) != &l.All[i] {
			return false
		}
	}
	return true
}

// Of is the loan of a holder, nil if it has none.
func (l *Loans) Of(holder []byte) *Loan {
	for i := range l.All {
		if string(l.All[i].Holder) == string(holder) {
			return &l.All[i]
		}
	}
	return nil
}

// Sum is the tokens of all loans.
func (l *Loans) Sum() (tokens int64) {
	for i := range l.All {
		tokens += l.All[i].Tokens
	}
	return tokens
}

// End ends the loans whose time is over at now, in the order of their ends: all of their tokens count as spent at that
// time, which is the latest at which they were.
func (l *Loans) End(now int64, spend func(at, tokens int64)) {
	isOver := func(x Loan) bool { return x.Until != 0 && x.Until <= now }
	if !slices.ContainsFunc(l.All, isOver) {
		return
	}
	var room [MaxLoans]Loan
	over := append(room[:0], l.All...)
	over = slices.DeleteFunc(over, func(x Loan) bool { return !isOver(x) })
	slices.SortStableFunc(over, func(a, b Loan) int { return cmp.Compare(a.Until, b.Until) })
	l.All = slices.DeleteFunc(l.All, isOver)
	for i := range over {
		spend(over[i].Until, over[i].Tokens)
	}
}

// Put sets a holder's loan. One without tokens is none.
func (l *Loans) Put(one Loan) {
	switch old := l.Of(one.Holder); {
	case one.Tokens == 0:
		l.remove(one.Holder)
	case old != nil:
		*old = one
	default:
		l.All = append(l.All, one)
	}
}

func (l *Loans) remove(holder []byte) {
	l.All = slices.DeleteFunc(l.All, func(x Loan) bool { return string(x.Holder) == string(holder) })
}

// List appends the loans to b for [Result.LoansListed].
func (l *Loans) List(b []byte, now int64) []byte {
	for i := range l.All {
		one := &l.All[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.Holder))), one.Holder...)
		b = binary.AppendUvarint(b, uint64(one.Tokens))
		b = binary.AppendUvarint(b, uint64(max(0, one.Until-now)))
	}
	return b
}

// Copied are the loans, for use outside of the lock.
func (l *Loans) Copied(now int64) (all []engine.LoanOf) {
	listed := engine.Result{Reply: l.List(nil, now)}
	return listed.LoansListed()
}
