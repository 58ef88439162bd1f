package store

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
)

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

// copied are the loans, for use outside of the lock.
func (l *loans) copied(now int64) (all []engine.LoanOf) {
	listed := engine.Result{Reply: l.list(nil, now)}
	return listed.LoansListed()
}
