package store

import (
	"bytes"
	"sync"

	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// shard is one lock's worth of the store: an index over records in an arena. Records are appended; the space that a deleted one
// leaves behind is counted and won back when its segment is compacted.
type shard struct {
	mu        sync.Mutex
	arena     arena
	index     index
	moves     uint32 // counts what may have moved records, or their slots
	limits    *limitTable
	pin       pinned // the limit of the key made last
	mem       *memory
	admission *admission
	quotas    *quotas // nil if there are none

	snapshot *Snapshot // that has not visited this shard yet
	phase    uint32    // the phaseBit of every record except those that snapshot has not visited yet

	number  uint32 // of the shard
	changes *changes
	dirty   []uint32 // references of records written since the last Changes
	gone    []byte   // keys deleted since then: 4 bytes of length, the key

	lent  map[string]struct{} // the keys of limiters with loans
	tanks map[string]struct{} // the keys whose limit has its home elsewhere

	sampleFrom uint64 // tag from which makeRoom looks for expired entries
	fullUntil  int64  // makeRoom does not look at all entries for new keys again before this time
	stuckUntil int64  // nor for a state that grows
	_          [64]byte
}

// fullRetry is the time for which a shard whose memory is short does not look at all its entries again.
const fullRetry = 100_000_000

// place is where a key's record is: its slot in the index, and whether it was found there.
type place struct {
	at    uint64
	ref   uint32
	found bool
}

func (s *shard) record(ref uint32) record { return s.arena.record(ref) }

func (s *shard) limitOf(r record) *limits.Limit { return &s.limits.at(r.limitID()).limit }

func (s *shard) size(r record) int {
	return recordBytes(len(algorithm.Table[s.limitOf(r).Algorithm].StateOf(r.rest())), r.keyLen())
}

func (s *shard) expired(r record, now int64) bool {
	limit := s.limitOf(r)
	alg := &algorithm.Table[limit.Algorithm]
	return alg.Expired(alg.StateOf(r.rest()), limit, now)
}

// seek returns the position from which findFrom looks for a key. It reads the head of the record there, so that the processor fetches it.
func (s *shard) seek(tag uint32) (at, head uint64) {
	if s.index.count == 0 {
		return 0, 0
	}
	at = s.index.seek(tag)
	ref := uint32(s.index.slots[at])
	if ref == 0 {
		return at, 0
	}
	return at, uint64(s.record(ref)[4])
}

func (s *shard) find(tag uint32, key []byte) place {
	if s.index.count == 0 {
		return place{}
	}
	return s.findFrom(s.index.seek(tag), tag, key)
}

func (s *shard) findFrom(at uint64, tag uint32, key []byte) place {
	if s.index.count == 0 {
		return place{}
	}
	for ; s.index.slots[at] != 0 && slotTag(s.index.slots[at]) == tag; at++ {
		ref := uint32(s.index.slots[at])
		if bytes.Equal(s.record(ref).key(), key) {
			return place{at, ref, true}
		}
	}
	return place{}
}
