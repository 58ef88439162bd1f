package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// interned keeps each distinct limit once, counted by the entries that use it, so that an entry holds a 4-byte id instead
// of 32 bytes of parameters. Ids are reused when the last entry lets go: a client that sends other parameters with every
// call cannot make the table outgrow the number of keys.
//
// Reading an id takes no lock: whoever holds an entry's shard knows that the entry keeps its limit in use.
type interned struct {
	mem    *memory
	chunks atomic.Pointer[[]*[internedChunk]internedLimit] // grows by a longer copy

	mu   sync.Mutex
	ids  map[Limit]uint32
	free []uint32
	next uint32

	frozenBelow uint32   // ids that a Frozen may name; those of them that are freed are held back
	held        []uint32 // until it is released
}

type internedLimit struct {
	limit Limit
	users atomic.Int64
}

const (
	internedChunk = 1 << 10
	// internedBytes is about what one distinct limit costs in the table and the map.
	internedBytes = 128
)

func newInterned(mem *memory) *interned {
	t := &interned{mem: mem, ids: map[Limit]uint32{}}
	t.chunks.Store(new([]*[internedChunk]internedLimit))
	return t
}

func (t *interned) at(id uint32) *internedLimit {
	return &(*t.chunks.Load())[id/internedChunk][id%internedChunk]
}

// acquire returns the id of a limit and counts one more user. pin is an id that the caller keeps in use: most new keys
// come with the limit of the one before, and then no lock is taken.
func (t *interned) acquire(l *Limit, pin *pinned) uint32 {
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

func (t *interned) add(l *Limit) uint32 {
	var id uint32
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		id = t.next
		t.next++
		if chunks := *t.chunks.Load(); int(id/internedChunk) == len(chunks) {
			longer := append(slices.Clone(chunks), new([internedChunk]internedLimit))
			t.chunks.Store(&longer)
		}
	}
	t.mem.used.Add(internedBytes)
	t.at(id).limit = *l
	t.ids[*l] = id
	return id
}

// release counts one user less.
func (t *interned) release(id uint32) {
	if e := t.at(id); e.users.Add(-1) == 0 {
		t.mu.Lock()
		t.forget(id)
		t.mu.Unlock()
	}
}

// forget frees an id, unless it has found a user, or was freed, since it lost its last one. The caller holds mu.
func (t *interned) forget(id uint32) {
	e := t.at(id)
	if known, ok := t.ids[e.limit]; !ok || known != id || e.users.Load() != 0 {
		return
	}
	delete(t.ids, e.limit)
	t.mem.used.Add(-internedBytes)
	if id < t.frozenBelow {
		t.mem.frozen.Add(internedBytes)
		t.held = append(t.held, id)
		return
	}
	t.free = append(t.free, id)
}

// freeze keeps every id there is from being used for another limit, until thaw.
func (t *interned) freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozenBelow = t.next
}

func (t *interned) thaw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mem.frozen.Add(-internedBytes * int64(len(t.held)))
	t.free = append(t.free, t.held...)
	t.frozenBelow, t.held = 0, nil
}
