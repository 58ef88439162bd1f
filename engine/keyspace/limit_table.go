package keyspace

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/limits"
)

// limitTable keeps each distinct limit once, counted by the entries that use it, so that an entry holds a 4-byte id instead
// of 32 bytes of parameters. Ids are reused when the last entry lets go: a client that sends other parameters with every
// call cannot make the table outgrow the number of keys.
//
// Reading an id takes no lock: the caller holds the lock of the entry's shard, and the entry keeps its limit in use.
type limitTable struct {
	mem    *memory
	chunks atomic.Pointer[[]*[limitTableChunk]tableLimit] // grows by a longer copy

	mu   sync.Mutex
	ids  map[limits.Limit]uint32
	free []uint32
	next uint32

	snapshotBelow uint32   // ids that a Snapshot may name; those of them that are freed are held back
	held          []uint32 // until it is released
}

type tableLimit struct {
	limit limits.Limit
	users atomic.Int64
}

const (
	limitTableChunk = 1 << 10
	// tableLimitBytes is about the cost of one distinct limit in the table and the map.
	tableLimitBytes = 128
)

func newLimitTable(mem *memory) *limitTable {
	t := &limitTable{mem: mem, ids: map[limits.Limit]uint32{}}
	t.chunks.Store(new([]*[limitTableChunk]tableLimit))
	return t
}

func (t *limitTable) at(id uint32) *tableLimit {
	return &(*t.chunks.Load())[id/limitTableChunk][id%limitTableChunk]
}

// acquire returns the id of a limit and counts one more user. pin is an id that the caller keeps in use: most new keys
// come with the limit of the one before, and then no lock is taken.
func (t *limitTable) acquire(l *limits.Limit, pin *pinned) uint32 {
	if pin.used && t.at(pin.id).limit == *l {
		t.at(pin.id).users.Add(1)
		return pin.id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id, known := t.ids[*l]
	if !known {
		id = t.add(l)
	}
	t.at(id).users.Add(2) // the entry and the pin
	if old := *pin; old.used && t.at(old.id).users.Add(-1) == 0 {
		t.forget(old.id)
	}
	*pin = pinned{id, true}
	return id
}

// pinned is a limit kept in use for the next key.
type pinned struct {
	id   uint32
	used bool
}

func (t *limitTable) add(l *limits.Limit) uint32 {
	var id uint32
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		id = t.next
		t.next++
		if chunks := *t.chunks.Load(); int(id/limitTableChunk) == len(chunks) {
			longer := append(slices.Clone(chunks), new([limitTableChunk]tableLimit))
			t.chunks.Store(&longer)
		}
	}
	t.mem.used.Add(tableLimitBytes)
	t.at(id).limit = *l
	t.ids[*l] = id
	return id
}

// release counts one user less.
func (t *limitTable) release(id uint32) { t.releaseUses(id, 1) }

// releaseUses counts some users less, perhaps none.
func (t *limitTable) releaseUses(id uint32, users int64) {
	if users == 0 {
		return
	}
	if e := t.at(id); e.users.Add(-users) == 0 {
		t.mu.Lock()
		t.forget(id)
		t.mu.Unlock()
	}
}

// forget frees an id, unless it has found a user, or was freed, since it lost its last one. The caller holds mu.
func (t *limitTable) forget(id uint32) {
	e := t.at(id)
	if known, ok := t.ids[e.limit]; !ok || known != id || e.users.Load() != 0 {
		return
	}
	delete(t.ids, e.limit)
	t.mem.used.Add(-tableLimitBytes)
	if id < t.snapshotBelow {
		t.mem.snapshotBytes.Add(tableLimitBytes)
		t.held = append(t.held, id)
		return
	}
	t.free = append(t.free, id)
}

// holdIDs keeps every id there is from being used for another limit, until thaw.
func (t *limitTable) holdIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.snapshotBelow = t.next
}

func (t *limitTable) releaseIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mem.snapshotBytes.Add(-tableLimitBytes * int64(len(t.held)))
	t.free = append(t.free, t.held...)
	t.snapshotBelow, t.held = 0, nil
}
