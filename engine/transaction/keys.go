package transaction

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// keyWork is the work of looking at one key.
const keyWork = 8

// Keys returns the keys of the database that pass, in order, and false if the store has more than the given number of
// keys: looking at all of them would hold everybody up. It needs all locks ([Tx.Stopped]). Expired keys do not count,
// so that replicas agree.
func (t *Tx) Keys(most int, pass func(key []byte, kind engine.Kind) bool) (keys [][]byte, ok bool) {
	if !t.shards.all {
		t.shards.stopped = true
		return nil, true
	}
	live := 0
	add := func(name []byte, kind engine.Kind) {
		live++
		if number, key := database.Split(name); number == t.number && pass(key, kind) {
			keys = append(keys, bytes.Clone(key))
		}
	}
	for i := range t.runner.keys.Shards() {
		t.runner.keys.ShardAt(uint32(i)).Each(func(key []byte, limit *limits.Limit, state []byte) {
			if !algorithm.Table[limit.Algorithm].Expired(state, limit, t.now) && t.find(key) == nil {
				add(key, engine.KindOf(limit.Algorithm))
			}
		})
		if live > most {
			return nil, false
		}
	}
	for _, p := range t.pending[:t.used] {
		if !p.Gone {
			add(p.Key, p.Kind)
		}
	}
	t.work += live * keyWork
	slices.SortFunc(keys, bytes.Compare)
	return keys, live <= most
}
