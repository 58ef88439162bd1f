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

// Look is [Tx.Get] without the data of a value in blocks.
func Look(t *Tx, key []byte) (v engine.Value, found bool) {
	found = t.get(t.nameOf(key), &v)
	return v, found
}

// Expire gives a key, which exists and is of a kind, another time at which it expires; 0 is never.
func Expire(t *Tx, key []byte, kind engine.Kind, at int64) {
	if v, _ := EditLarge(t, key, kind, 0); v != nil {
		t.find(t.nameOf(key)).ExpiresAt = at
		return
	}
	t.Edit(key, kind).ExpiresAt = at
}

// Large returns the value of a key for reading, if it is of a kind and in blocks, and else nil. Then [Tx.Get] returns
// all of it. It is valid until the next change of any key, or the next call.
func Large(t *Tx, key []byte, kind engine.Kind) *large.Value {
	p, at, state := findLarge(t, key, kind)
	switch {
	case p != nil:
		return p.Large
	case at == nil:
		return nil
	}
	t.reading.Open(kind, algorithm.DataOf(state), &keyspace.LargeValues(at.shard).Heap)
	return &t.reading
}

// findLarge looks for a key whose value is of a kind and in blocks. If the key is changed it returns the change, and
// else where it is, and the state; if there is no such value, neither.
func findLarge(t *Tx, key []byte, kind engine.Kind) (p *pending, at *spot, state []byte) {
	if !keyspace.MayHaveLarge(t.runner.keys) || t.copies.inUse { // copies are of flat bytes
		return nil, nil, nil
	}
	key = t.nameOf(key)
	if p = t.find(key); p != nil {
		if p.Gone || p.Large == nil || p.Kind != kind {
			p = nil
		}
		return p, nil, nil
	}
	at, held := t.shards.spotOf(key)
	if !held || !keyspace.HasLarge(at.shard) {
		return nil, nil, nil
	}
	limit, state := at.stateOf(key)
	if limit == nil || limit.Algorithm != kind.Algorithm() || algorithm.FormOf(state) != algorithm.InBlocks ||
		algorithm.Table[limit.Algorithm].Expired(state, limit, t.now) {
		return nil, nil, nil
	}
	return nil, at, state
}

// EditLarge is [Large] for changes, each of which costs work, by which the value grows by at most a number of bytes.
// If it may grow to more than [MostBytes], it is not changed, and EditLarge returns nil and the bytes. The caller
// deletes the key once the value is empty.
func EditLarge(t *Tx, key []byte, kind engine.Kind, more int) (v *large.Value, tooMany int) {
	p, at, state := findLarge(t, key, kind)
	var head large.Head
	switch {
	case p != nil:
		head = p.Large.Head
	case at == nil:
		return nil, 0
	default:
		head = large.ReadHead(algorithm.DataOf(state))
	}
	if bytes := head.FlatBytes(kind) + more; more > 0 && bytes > MostBytes(t, kind) {
		return nil, bytes
	}
	if p == nil {
		expiresAt := algorithm.ExpiryOf(state)
		p = addAt(t, t.nameOf(key), at)
		p.set(&engine.Value{Kind: kind, InBlocks: true, ExpiresAt: expiresAt, Data: algorithm.DataOf(state)})
		p.Large = &p.edited
		p.edited.Logs = t.runner.keys.JournalNotes().IsOn()
		p.edited.Edit(kind, head, &keyspace.LargeValues(p.shard).Heap)
	}
	return p.Large, 0
}
