package keyspace

import (
	"github.com/stintdb/stint/engine/internal/arena"
	"github.com/stintdb/stint/engine/largevalues"
	"math"
	"sync/atomic"

	"github.com/stintdb/stint/engine/internal/offheap"
	"github.com/stintdb/stint/engine/internal/tagindex"
)

// Snapshot is a keyspace as it was at one instant, while decisions go on. A record is copied before it changes for the
// first time since, unless Scan has passed it already; Scan looks at a few hundred records at a time. So an operation
// that comes first to a record copies that record, and nothing else stops for more than those few hundred.
//
// The copies are given back as Scan passes their shards. At worst, when everything changes before Scan comes to it,
// they are as much memory again as the store's records; [Keyspace.SnapshotBytes] returns them. Those bytes do not count
// against the store's bound, so that no decision depends on whether a copy is being made.
//
// [Snapshot.Release] must always be called. Scan and Release are for one goroutine at a time, which may be
// another than the goroutines that use the store.
type Snapshot struct {
	keys     *Keyspace
	count    int           // of keys
	copied   []copiedShard // under the lock of the shard of the same number
	buffer   []byte        // records being visited
	released atomic.Bool
}

// copiedShard is copies of a shard's records that have changed since.
type copiedShard struct {
	copies []copiedBlock
	arena  arena.Arena // and the whole shard, when it was emptied
	slots  []uint64
	large  *largevalues.Values
}

// copiedBlock is records one after the other.
type copiedBlock struct {
	bytes []byte
	used  int
}

// Every record has a bit, its phase. Without a Snapshot it is the shard's. Keyspace.Snapshot turns the shard's phase
// over: records that still have the other one are yet to be shown. They get the new one when they are visited, or
// copied because they change; new ones have it from the start. Afterwards all have the shard's phase again.

func (r record) phase() uint32 { return uint32(r[7]) << 24 & phaseBit }

func (r record) turnPhase() { r[7] ^= phaseBit >> 24 }

// preserve is to be called before a record changes or is dropped.
func (t *table) preserve(r record) {
	if t.snapshot != nil && r.phase() != t.phase {
		t.snapshot.copyRecord(t, r)
	}
}

// Snapshot marks this instant. It takes a moment for each shard, and must not be called while operations are applied,
// but TryReadOnly, Sweep and all that reads may go on. There is at most one Snapshot: another before Release
// panics, because waiting could block the goroutine that applies operations.
func (s *Keyspace) Snapshot() *Snapshot {
	f := &Snapshot{keys: s, copied: make([]copiedShard, len(s.shards))}
	if !s.snapshot.CompareAndSwap(nil, f) {
		panic("store: Snapshot before the last one was released")
	}
	s.limits().HoldIDs()
	s.each(func(sh *Shard) {
		if sh.index.Count > 0 {
			sh.snapshot, sh.phase = f, sh.phase^phaseBit
			f.count += sh.index.Count
		}
	})
	return f
}

// Len counts the keys at the time of the snapshot; expired ones that had not been dropped yet are included.
func (f *Snapshot) Len() int { return f.count }

// Scan calls visit for every entry as it was at the time of the snapshot that holds information at now, once: entries
// it has passed are not shown again. visit runs under no lock; slices are only valid during the call.
func (f *Snapshot) Scan(now int64, visit func(Entry)) {
	for i := range f.keys.shards {
		sh := &f.keys.shards[i]
		for from := uint64(0); from <= math.MaxUint32; {
			from = f.pass(sh, from)
			for rest := f.buffer; len(rest) > 0; {
				rest = sh.show(rest, now, visit)
			}
		}
		f.showCopied(sh, now, visit)
	}
}

// As much of a shard is looked at under one lock, and a bit more.
const (
	snapshotStride      = 256 // records
	snapshotStrideBytes = 64 << 10
)

// pass copies the next records of a shard that are yet to be shown to the buffer, and returns the tag to go on from.
// Once none is left the shard is no longer frozen.
func (f *Snapshot) pass(s *Shard, from uint64) (to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const end = uint64(math.MaxUint32) + 1
	if f.buffer = f.buffer[:0]; s.snapshot == nil {
		return end
	}
	last, looked := end, 0
	for _, slot := range s.index.Slots[s.index.Seek(uint32(from)):] {
		if slot == 0 {
			continue
		}
		tag := uint64(tagindex.TagOf(slot))
		if tag != last && (looked >= snapshotStride || len(f.buffer) >= snapshotStrideBytes) {
			return tag
		}
		last = tag
		looked++
		if r := s.record(uint32(slot)); r.phase() != s.phase {
			r.turnPhase()
			f.buffer = append(f.buffer, wholeRecord(s.large, &s.table, r)...)
		}
	}
	s.snapshot = nil
	return end
}

// show visits the record at the front of b if it holds information at now, and returns the bytes after it.
func (t *table) show(b []byte, now int64, visit func(Entry)) (rest []byte) {
	r := record(b)
	if !t.expired(r, now) {
		limit, state := t.stateOf(r) // whole, and the large values of the shard may change now
		visit(Entry{Key: r.key(), Limit: *limit, State: state})
	}
	return b[t.size(r):]
}

// showCopied visits the records of a shard that were copied, or taken over, and gives them back.
func (f *Snapshot) showCopied(s *Shard, now int64, visit func(Entry)) {
	k := f.takeCopied(s)
	for _, block := range k.copies {
		for rest := block.bytes[:block.used]; len(rest) > 0; {
			rest = s.show(rest, now, visit)
		}
	}
	for _, slot := range k.slots {
		if slot == 0 {
			continue
		}
		r := record(k.arena.Record(uint32(slot)))
		if r.phase() == s.phase {
			continue
		}
		s.show(wholeRecord(k.large, &s.table, r), now, visit)
	}
	f.giveBack(&k)
}

func (f *Snapshot) takeCopied(s *Shard) (k copiedShard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, f.copied[s.Number] = f.copied[s.Number], k
	return k
}

func (f *Snapshot) giveBack(k *copiedShard) {
	for _, block := range k.copies {
		f.keys.memory.freeCopy(block.bytes)
	}
	k.arena.Each(func(_ int, g *arena.Segment) { f.keys.memory.freeCopy(g.Bytes) })
	f.keys.memory.freeCopy(offheap.Bytes(k.slots))
	if k.large != nil {
		k.large.Heap.Clear()
	}
}

// Release gives back the remaining copies and ends the copying. More calls than one do nothing.
func (f *Snapshot) Release() {
	if f.released.Swap(true) {
		return
	}
	s := f.keys
	for i := range s.shards {
		sh := &s.shards[i]
		for from := uint64(0); from <= math.MaxUint32; { // all records have the same phase again
			from = f.pass(sh, from)
		}
		k := f.takeCopied(sh)
		f.giveBack(&k)
	}
	s.limits().ReleaseIDs()
	s.snapshot.Store(nil)
}

const (
	firstCopyBytes = 256 // bytes of a shard's first block of copies
	copyDoublings  = 8   // of the size of the next, up to 64 KiB
)

// copyRecord copies a record that is about to change. The caller holds the shard's lock.
func (f *Snapshot) copyRecord(t *table, r record) {
	k, whole := &f.copied[t.Number], wholeRecord(t.large, t, r)
	size := len(whole)
	n := len(k.copies)
	if n == 0 || k.copies[n-1].used+size > len(k.copies[n-1].bytes) {
		k.copies = append(k.copies, copiedBlock{bytes: t.mem.copyBlock(max(firstCopyBytes<<min(n, copyDoublings), size))})
		n++
	}
	block := &k.copies[n-1]
	block.used += copy(block.bytes[block.used:], whole)
	r.turnPhase()
}

// copies is the memory of the blocks that a snapshot has taken over.
type copies struct{ m *memory }

func (c copies) Block(n int) []byte { return c.m.copyBlock(n) }
func (c copies) Free(b []byte)      { c.m.freeCopy(b) }

// takeOver keeps the remaining records of a shard that is emptied, by taking its blocks. The caller holds the shard's
// lock.
func (f *Snapshot) takeOver(t *table) {
	k := &f.copied[t.Number]
	k.arena, k.slots, k.large = t.arena, t.index.Slots, t.large
	size, _, _ := k.arena.Totals()
	bytes := int64(size) + t.index.Bytes()
	if k.large != nil {
		held, _ := k.large.Heap.Bytes()
		bytes += int64(held)
		k.large.Heap.Memory = copies{t.mem}
	}
	t.mem.used.Add(-bytes)
	t.mem.snapshotBytes.Add(bytes)
	t.snapshot = nil
}
