package engine

import "encoding/binary"

// LoanOf is one holder's tokens of a key.
type LoanOf struct {
	Holder []byte
	Tokens int64
	Left   int64 // nanoseconds until they count as spent, 0 if that has no end
}

// list appends the loans to b for [Result.LoansListed].
func (l *loans) list(b []byte, now int64) []byte {
	for i := range l.all {
		one := &l.all[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.holder))), one.holder...)
		b = binary.AppendUvarint(b, uint64(one.tokens))
		b = binary.AppendUvarint(b, uint64(max(0, one.until-now)))
	}
	return b
}

// LoansListed are those that a Loans has found, in the order in which they were made.
func (res *Result) LoansListed() (all []LoanOf) {
	b := res.Reply
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		b = b[max(0, size):]
		return n
	}
	for len(b) > 0 {
		size := min(number(), uint64(len(b)))
		holder := b[:size]
		b = b[size:]
		all = append(all, LoanOf{holder, int64(number()), int64(number())})
	}
	return all
}

// copied are the loans, for use outside of the lock.
func (l *loans) copied(now int64) (all []LoanOf) {
	listed := Result{Reply: l.list(nil, now)}
	return listed.LoansListed()
}
