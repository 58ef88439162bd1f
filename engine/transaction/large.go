package transaction

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/large"
)

// MostBytes is the most bytes that the data of a key may have. Large values are bounded more loosely, where every node
// knows them.
func MostBytes(t *Tx, kind engine.Kind) int {
	if large.IsKind(kind) && t.runner.large.Load() {
		return large.MaxBytes
	}
	return engine.MaxValueBytes
}

// Look is [Tx.Get] of a key for its kind and the time at which it expires alone.
func Look(t *Tx, key []byte) (v engine.Value, found bool) {
	found = t.get(t.nameOf(key), &v)
	return v, found
}

// Expire gives a key, which exists and is of a kind, another time at which it expires; 0 is never.
func Expire(t *Tx, key []byte, kind engine.Kind, at int64) {
	if EditLarge(t, key, kind) != nil {
		t.find(t.nameOf(key)).ExpiresAt = at
		return
	}
	t.Edit(key, kind).ExpiresAt = at
}

// Large returns the value of a key for reading, if it is of a kind and in blocks, and else nil. Then [Tx.Get] returns
// all of it. It is valid until the next change of any key, or the next call.
func Large(t *Tx, key []byte, kind engine.Kind) *large.Value {
	if !keyspace.MayHaveLarge(t.runner.keys) {
		return nil
	}
	key = t.nameOf(key)
	if p := t.find(key); p != nil {
		if p.Gone || p.Large == nil || p.Kind != kind {
			return nil
		}
		return p.Large
	}
	limit, state := t.stateOf(key)
	if limit == nil || limit.Algorithm != kind.Algorithm() || algorithm.FormOf(state) != algorithm.InBlocks ||
		algorithm.Table[limit.Algorithm].Expired(state, limit, t.now) {
		return nil
	}
	s, _ := t.shards.spotOf(key)
	t.reading.Open(kind, algorithm.DataOf(state), &keyspace.LargeValues(s.shard).Heap)
	return &t.reading
}

// EditLarge is [Tx.Large] for changes, each of which costs work. The caller deletes the key once the value is empty.
func EditLarge(t *Tx, key []byte, kind engine.Kind) *large.Value {
	if Large(t, key, kind) == nil {
		return nil
	}
	key = t.nameOf(key)
	if p := t.find(key); p != nil {
		return p.Large
	}
	_, state := t.stateOf(key)
	expiresAt, head := algorithm.ExpiryOf(state), algorithm.DataOf(state)
	p := t.add(key)
	p.set(&engine.Value{Kind: kind, InBlocks: true, ExpiresAt: expiresAt, Data: head})
	p.Large = &p.edited
	p.edited.Logs = t.runner.keys.JournalNotes().IsOn()
	p.edited.Edit(kind, p.Data, &keyspace.LargeValues(p.shard).Heap)
	return p.Large
}
