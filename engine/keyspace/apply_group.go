package keyspace

import (
	"hash/maphash"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/ahead"
)

// groupAtOnce bounds the operations of a group. More would hold more locks, and gain little.
const groupAtOnce = 16

// located is where the key of an operation is.
type located struct {
	shard  *Shard
	tag    uint32
	locked bool // for this operation, not for an earlier one of the group

	place Place
	moves uint32 // of the shard when place was found
	head  []byte // of the record, perhaps
}

// ApplyGroup carries out the short operations at the front of ops, in order, and returns their number. It looks up all
// keys before it decides, so that the processor fetches their slots and records from memory side by side: an operation
// spends most of its time on these fetches unless its key is in the cache. A lock that another goroutine holds ends the
// group: waiting for it could be a deadlock.
func (s *Keyspace) ApplyGroup(c *algorithm.Call, now int64, ops []engine.Op, results []engine.Result) (n int) {
	var room [groupAtOnce]located
	for ; n < min(groupAtOnce, len(ops)) && algorithm.IsShort(&ops[n]); n++ {
		h, k := maphash.Bytes(s.seed, ops[n].Key), &room[n]
		if k.shard, k.tag = &s.shards[s.shardOf(h)], uint32(h); !k.shard.TouchHead() {
			break
		}
	}
	most := n
	for n = 0; n < most; n++ {
		k := &room[n]
		if k.locked = k.shard.mu.TryLock(); !k.locked && !slices.ContainsFunc(room[:n], func(o located) bool { return o.shard == k.shard }) {
			break
		}
	}
	keys := room[:n]
	for i := range keys {
		c.Touched |= keys[i].shard.Touch(keys[i].tag)
	}
	for i := range keys {
		k := &keys[i]
		k.place.At, k.head = k.shard.Seek(k.tag)
	}
	for i := range keys {
		if b := keys[i].head; len(b) > 0 {
			c.Touched |= uint64(b[0]) | uint64(b[min(len(b), ahead.Short)-1])
		}
	}
	for i := range keys {
		k := &keys[i]
		k.place, k.moves = k.shard.FindFrom(k.place.At, k.tag, ops[i].Key), k.shard.Moves
	}
	for i := range keys {
		k := &keys[i]
		if k.moves != k.shard.Moves { // an earlier operation has moved records
			k.place = k.shard.Find(k.tag, ops[i].Key)
		}
		k.shard.applyAt(c, now, k.tag, k.place, &ops[i], &results[i])
	}
	for i := range keys {
		if keys[i].locked {
			keys[i].shard.mu.Unlock()
		}
	}
	return n
}
