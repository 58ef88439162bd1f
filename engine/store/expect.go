package store

import (
	"bytes"

	"github.com/stintdb/stint/engine"
)

// applyExpect carries out an Expect: it compares the keys with their fingerprints, or the policies with their sum.
func (s *Store) applyExpect(now int64, op *engine.Op, res *engine.Result, locked bool) {
	if !locked {
		defer s.keys.Unlock(s.keys.Lock(s.shardsOf([]engine.Op{*op})))
	}
	res.Clear()
	if op.ExpectsPolicies() {
		if sum := s.PoliciesSum(); !bytes.Equal(sum[:], op.Who) {
			res.Status = engine.KeyChanged
		}
		return
	}
	seen := op.Who
	for _, key := range op.DeclaredKeys() {
		sh, tag := s.keys.Locate(key)
		sum, work := sh.Fingerprint(now, tag, key)
		res.Work += work
		if !bytes.Equal(sum[:], seen[:len(sum)]) {
			res.Status = engine.KeyChanged
			return
		}
		seen = seen[len(sum):]
	}
}

// applyExpected carries out an atomic batch, whose shards are locked, if its Expect allows it.
func (s *Store) applyExpected(now int64, ops []engine.Op, results []engine.Result) {
	s.applyExpect(now, &ops[0], &results[0], true)
	if results[0].Status == engine.OK {
		s.apply(now, ops[1:], results[1:], true)
		return
	}
	for i := range ops[1:] {
		results[1+i].Clear()
		results[1+i].Status = engine.KeyChanged
	}
}
