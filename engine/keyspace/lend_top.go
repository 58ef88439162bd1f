package keyspace

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// LentKey is a key with loans.
type LentKey struct {
	Key    []byte
	Tokens int64 // of all its loans
	Loans  []engine.LoanOf
}

// TopLent is the n keys of which most tokens are lent. It locks one shard at a time, and reads at most MaxLentKeys
// keys.
func (s *Keyspace) TopLent(now int64, n int) (top []LentKey) {
	if s.LentKeys() == 0 || n < 1 {
		return nil
	}
	var c algorithm.Call
	var res engine.Result
	s.each(func(sh *Shard) {
		for key := range sh.kept.lent {
			op := engine.Op{Verb: engine.Loans, Key: []byte(key)}
			_, tag := s.Locate(op.Key)
			if sh.Load(&c, now, &op, &res, sh.Find(tag, op.Key)); c.Lent == 0 || len(top) == n && c.Lent < top[n-1].Tokens {
				continue
			}
			top = putLent(top, n, LentKey{op.Key, c.Lent, c.Loans.Copied(now)})
		}
	})
	return top
}

// putLent puts a key into a list of at most n, the most tokens first.
func putLent(top []LentKey, n int, one LentKey) []LentKey {
	at, _ := slices.BinarySearchFunc(top, one, func(a, b LentKey) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), bytes.Compare(a.Key, b.Key))
	})
	top = slices.Insert(top, at, one)
	return top[:min(n, len(top))]
}
