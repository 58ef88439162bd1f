package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// Dump calls visit for every entry that holds information at now, in the order of their keys, with the contents of its state
// and not how it lies in memory: the state of two stores that carried out the same operations at the same times is the
// same. It holds a copy of all entries until it returns: it is for tests and for comparing replicas.
func (s *Store) Dump(now int64, visit func(Entry)) {
	var all []Entry
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = s.Scan(cursor, dumpChunk, now, func(e Entry) {
			e.Key, e.State = bytes.Clone(e.Key), plainState(&e.Limit, e.State, now)
			all = append(all, e)
		})
	}
	slices.SortFunc(all, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	for _, e := range all {
		visit(e)
	}
}

const dumpChunk = 1024

// plainState is a copy of the contents of a state, independent of its layout in memory.
func plainState(l *limits.Limit, state []byte, now int64) []byte {
	if plain := algorithm.Table[l.Algorithm].Plain; plain != nil {
		return plain(state, now)
	}
	return bytes.Clone(state)
}

// Digest is the SHA-256 of the entries of Dump, of all policies with their overrides, of the restrictions of new keys,
// and of the shared limiters; it leaves out counters.
func (s *Store) Digest(now int64) (sum [32]byte) {
	h := sha256.New()
	var b []byte
	s.Dump(now, func(e Entry) {
		b = algorithm.AppendText(e.Limit.Append(b[:0]), e.Key)
		b = algorithm.AppendText(b, e.State)
		h.Write(b)
	})
	s.PolicyOps(func(op *engine.Op) {
		if op.Verb == engine.KeepOverflow {
			l := &op.Parts[0].Limit
			if algorithm.Table[l.Algorithm].Expired(op.Who, l, now) {
				return // an expired one is left out, whether it was cleaned up or not
			}
			op.Who = plainState(l, op.Who, now)
		}
		b = appendOp(b[:0], op)
		h.Write(b)
	})
	h.Sum(sum[:0])
	return sum
}

// appendOp appends an operation on a policy, a restriction or a shared limiter, for comparison alone.
func appendOp(b []byte, op *engine.Op) []byte {
	b = op.Limit.Append(append(b, byte(op.Verb), op.OptionBits()))
	b = algorithm.AppendText(b, op.Key)
	b = algorithm.AppendText(b, op.Who)
	if op.Options&engine.FixedCost != 0 || op.Keep != 0 {
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(op.Tokens)), int64(op.Keep))
	}
	b = binary.AppendUvarint(b, uint64(len(op.Parts)))
	for i := range op.Parts {
		b = appendOp(b, &op.Parts[i])
	}
	return b
}
