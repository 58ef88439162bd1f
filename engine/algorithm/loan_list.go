package algorithm

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
)

// List appends the loans to b for [Result.LoansListed].
func (l *Loans) List(b []byte, now int64) []byte {
	for i := range l.All {
		one := &l.All[i]
		b = append(binary.AppendUvarint(b, uint64(len(one.Holder))), one.Holder...)
		b = binary.AppendUvarint(b, uint64(one.Tokens))
		b = binary.AppendUvarint(b, uint64(max(0, one.until-now)))
	}
	return b
}

// Copied are the loans, for use outside of the lock.
func (l *Loans) Copied(now int64) (all []engine.LoanOf) {
	listed := engine.Result{Reply: l.List(nil, now)}
	return listed.LoansListed()
}
