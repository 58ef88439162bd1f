// Package limitset keeps each distinct limit of a store once.
package limitset

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/limits"
)

// Table keeps each distinct limit once, counted by the entries that use it, so that an entry holds a 4-byte id instead
// of 32 bytes of parameters. Ids are reused when the last entry lets go: a client that sends other parameters with
// every call cannot make the table outgrow the number of keys.
//
// Reading an id takes no lock: the caller holds the lock of the entry's shard, and the entry keeps its limit in use.
type Table struct {
	used      *atomic.Int64                         // bytes, of which the bytes of the table are a part
	heldBytes *atomic.Int64                         // for a snapshot, which are not in used
	chunks    atomic.Pointer[[]*[chunkLimits]entry] // grows by a longer copy

	mu   sync.Mutex
	ids  map[limits.Limit]uint32
	free []uint32
	next uint32

	snapshotBelow uint32   // ids that a Snapshot may name; such ids are held back when they are freed
	held          []uint32 // until it is released
}

type entry struct {
	limit limits.Limit
	users atomic.Int64
}

const (
	chunkLimits = 1 << 10
	// limitBytes is about the cost of one distinct limit in the table and the map.
	limitBytes = 128
)

// New returns an empty table. It adds its bytes to used, and takes off the bytes that a snapshot holds, which it adds
// to heldBytes.
func New(used, heldBytes *atomic.Int64) *Table {
	t := &Table{used: used, heldBytes: heldBytes, ids: map[limits.Limit]uint32{}}
	t.chunks.Store(new([]*[chunkLimits]entry))
	return t
}

// At returns the limit of an id that is in use.
func (t *Table) At(id uint32) *limits.Limit { return &t.at(id).limit }

func (t *Table) at(id uint32) *entry {
	return &(*t.chunks.Load())[id/chunkLimits][id%chunkLimits]
}

// Acquire returns the id of a limit and counts one more user. pin is an id that the caller keeps in use: most new keys
// come with the limit of the one before, and then no lock is taken.
func (t *Table) Acquire(l *limits.Limit, pin *Pin) uint32 {
	if pin.Used && t.at(pin.ID).limit == *l {
		t.at(pin.ID).users.Add(1)
		return pin.ID
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id, known := t.ids[*l]
	if !known {
		id = t.add(l)
	}
	t.at(id).users.Add(2) // the entry and the pin
	if old := *pin; old.Used && t.at(old.ID).users.Add(-1) == 0 {
		t.forget(old.ID)
	}
	*pin = Pin{id, true}
	return id
}

// Pin is a limit kept in use for the next key. The zero value is none.
type Pin struct {
	ID   uint32
	Used bool
}

func (t *Table) add(l *limits.Limit) uint32 {
	var id uint32
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		id = t.next
		t.next++
		if chunks := *t.chunks.Load(); int(id/chunkLimits) == len(chunks) {
			longer := append(slices.Clone(chunks), new([chunkLimits]entry))
			t.chunks.Store(&longer)
		}
	}
	t.used.Add(limitBytes)
	t.at(id).limit = *l
	t.ids[*l] = id
	return id
}

// Release counts one user less.
func (t *Table) Release(id uint32) { t.ReleaseUses(id, 1) }

// ReleaseUses counts some users less, perhaps none.
func (t *Table) ReleaseUses(id uint32, users int64) {
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
func (t *Table) forget(id uint32) {
	e := t.at(id)
	if known, ok := t.ids[e.limit]; !ok || known != id || e.users.Load() != 0 {
		return
	}
	delete(t.ids, e.limit)
	t.used.Add(-limitBytes)
	if id < t.snapshotBelow {
		t.heldBytes.Add(limitBytes)
		t.held = append(t.held, id)
		return
	}
	t.free = append(t.free, id)
}

// HoldIDs keeps every id there is from being used for another limit, until [Table.ReleaseIDs].
func (t *Table) HoldIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.snapshotBelow = t.next
}

// ReleaseIDs ends HoldIDs.
func (t *Table) ReleaseIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heldBytes.Add(-limitBytes * int64(len(t.held)))
	t.free = append(t.free, t.held...)
	t.snapshotBelow, t.held = 0, nil
}

// Check returns an error if the users that are counted for each limit are not the true ones, by ids. It is for tests.
func (t *Table) Check(users map[uint32]int64) error {
	for id, n := range users {
		if got := t.at(id).users.Load(); got != n {
			return fmt.Errorf("limit %d: %d users counted as %d", id, n, got)
		}
	}
	if len(t.ids) != len(users) {
		return fmt.Errorf("%d limits kept, %d in use", len(t.ids), len(users))
	}
	return nil
}
