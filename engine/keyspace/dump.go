package keyspace

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// Dump calls visit for every entry that holds information at now, in the order of their keys, with the contents of its
// state and not how it lies in memory: the state of two stores that carried out the same operations at the same times
// is the same. It holds a copy of all entries until it returns: it is for tests and for comparing replicas.
func (s *Keyspace) Dump(now int64, visit func(Entry)) {
	var all []Entry
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = s.Scan(cursor, dumpChunk, now, func(e Entry) {
			e.Key, e.State = bytes.Clone(e.Key), PlainState(&e.Limit, e.Whole().State, now)
			all = append(all, e)
		})
	}
	slices.SortFunc(all, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	for _, e := range all {
		visit(e)
	}
}

const dumpChunk = 1024

// PlainState is a copy of the contents of a state, independent of its layout in memory.
func PlainState(l *limits.Limit, state []byte, now int64) []byte {
	if plain := algorithm.Table[l.Algorithm].Plain; plain != nil {
		return plain(state, now)
	}
	return bytes.Clone(state)
}
