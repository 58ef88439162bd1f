package keyspace

import (
	"slices"
	"testing"
	"unsafe"
)

// TouchHead fetches all that a look-up reads of a shard: two lines of the processor's cache.
func TestHeadOfShard(t *testing.T) {
	const line = 64
	var s Shard
	if size := unsafe.Sizeof(s); size%line != 0 {
		t.Errorf("a shard has %d bytes: the next one begins within a line", size)
	}
	for name, field := range map[string]struct{ at, line uintptr }{
		"mu": {unsafe.Offsetof(s.mu), 0}, "latest": {unsafe.Offsetof(s.latest), 0}, "mem": {unsafe.Offsetof(s.mem), 0}, "index.Count": {unsafe.Offsetof(s.index) + unsafe.Offsetof(s.index.Count), 0},
		"arena.Segments": {unsafe.Offsetof(s.arena) + unsafe.Offsetof(s.arena.Segments), 1}, "Moves": {unsafe.Offsetof(s.Moves), 1}, "limits": {unsafe.Offsetof(s.limits), 1}, "changes": {unsafe.Offsetof(s.changes), 1},
	} {
		if field.at/line != field.line {
			t.Errorf("%s lies in line %d, not %d", name, field.at/line, field.line)
		}
	}
}

// LockOthers locks each shard once, and gives up, with none of them locked, where another goroutine holds one.
func TestLockOthers(t *testing.T) {
	s := newKeyspace(Config{Shards: 8})
	s.shards[5].Lock()
	if held := s.LockOthers([]uint32{5, 2, 5, 7, 2}); !slices.Equal(held, []uint32{5, 2, 7}) {
		t.Fatalf("holds %v", held)
	}
	order := []uint32{1, 1, 3, 3, 7, 4}
	s.shards[1].Lock()
	if held := s.LockOthers(order); held != nil {
		t.Fatalf("holds %v, one of them twice", held)
	}
	s.shards[1].Unlock()
	s.Unlock([]uint32{5, 2, 7})
	held := s.Lock(order)
	defer s.Unlock(held)
	if !slices.Equal(held, []uint32{1, 3, 4, 7}) {
		t.Errorf("then holds %v", held)
	}
}
