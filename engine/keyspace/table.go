package keyspace

import (
	"bytes"
	"github.com/stintdb/stint/engine/internal/arena"
	"github.com/stintdb/stint/engine/largevalues"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/limitset"
	"github.com/stintdb/stint/engine/internal/tagindex"
	"github.com/stintdb/stint/engine/limits"
)

// table is a hash table in memory of its own: an index over records in an arena. Records are appended; the space that a
// deleted one leaves behind is counted and won back when its segment is compacted. What every decision reads stands in
// front, see TouchHead.
type table struct {
	mem      *memory
	index    tagindex.Index
	arena    arena.Arena
	Moves    uint32 // counts what may have moved records, or their slots
	phase    uint32 // the phaseBit of every record except the records that snapshot has not visited yet
	limits   *limitset.Table
	snapshot *Snapshot // that has not visited this table yet
	notes

	pin    limitset.Pin      // the limit of the key made last
	quotas *admission.Quotas // nil if there are none
	kept   keptKeys
	large  *largevalues.Values

	turn       uint32 // number of the segment in which makeRoom looked for expired entries last
	sampleFrom uint32 // tag from which makeRoom looks for expired entries
	fullUntil  int64  // makeRoom does not look at all entries for new keys again before this time
	stuckUntil int64  // nor for a state that grows
}

// fullRetry is the time for which a shard whose memory is short does not look at all its entries again.
const fullRetry = 100_000_000

// Place is where a key's record is: its slot in the index, and whether it was found there.
type Place struct {
	At    uint64
	ref   uint32
	Found bool
}

// TouchHead reads a field in each of the two lines of the processor's cache with which a look-up begins, so that those
// of several shards are fetched side by side. Neither field changes, so no lock is needed. It is true of every table:
// callers depend on that, because the compiler leaves out a load whose value nobody uses.
func (t *table) TouchHead() bool { return t.mem != nil && t.limits != nil }

func (t *table) record(ref uint32) record { return t.arena.Record(ref) }

func (t *table) limitOf(r record) *limits.Limit { return t.limits.At(r.limitID()) }

// stateOf is the limit and the state of a record.
func (t *table) stateOf(r record) (limit *limits.Limit, state []byte) {
	limit = t.limitOf(r)
	return limit, algorithm.Table[limit.Algorithm].StateOf(r.rest())
}

// entry is a record as those outside see it.
func (t *table) entry(r record) Entry {
	limit, state := t.stateOf(r)
	return Entry{Key: r.key(), Limit: *limit, State: state, large: t.large}
}

// each visits every record.
func (t *table) each(visit func(r record)) {
	for _, slot := range t.index.Slots {
		if slot != 0 {
			visit(t.record(uint32(slot)))
		}
	}
}

func (t *table) size(r record) int {
	_, state := t.stateOf(r)
	return RecordBytes(len(state), r.keyLen())
}

func (t *table) expired(r record, now int64) bool {
	limit, state := t.stateOf(r)
	return algorithm.Table[limit.Algorithm].Expired(state, limit, now)
}

// Seek returns the position from which findFrom looks for a key, and the record there, if that may have the key. It does
// not read the record: see [ahead.List].
func (t *table) Seek(tag uint32) (at uint64, head []byte) {
	if t.index.Count == 0 {
		return 0, nil
	}
	at = t.index.Seek(tag)
	slot := t.index.Slots[at]
	if slot == 0 || tagindex.TagOf(slot) != tag { // the key is new
		return at, nil
	}
	return at, t.record(uint32(slot))
}

// RoomOf is the memory that the next record will take, as far as it lies in a page in use: reading another would have the
// system map a page of zeros, and replace it when the record is written.
func RoomOf(t *Shard) []byte {
	if t.arena.Room() == 0 {
		return nil
	}
	g := &t.arena.Segments[t.arena.Current]
	return g.Bytes[g.Used:min(len(g.Bytes), (g.Used+arena.PageBytes-1)&^(arena.PageBytes-1))]
}

func (t *table) Find(tag uint32, key []byte) Place {
	if t.index.Count == 0 {
		return Place{}
	}
	return t.FindFrom(t.index.Seek(tag), tag, key)
}

func (t *table) FindFrom(at uint64, tag uint32, key []byte) Place {
	if t.index.Count == 0 {
		return Place{}
	}
	for ; t.index.Slots[at] != 0 && tagindex.TagOf(t.index.Slots[at]) == tag; at++ {
		ref := uint32(t.index.Slots[at])
		if bytes.Equal(t.record(ref).key(), key) {
			return Place{at, ref, true}
		}
	}
	return Place{}
}
