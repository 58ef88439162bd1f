package keyspace

import (
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
		"mu": {unsafe.Offsetof(s.mu), 0}, "mem": {unsafe.Offsetof(s.mem), 0}, "index.Count": {unsafe.Offsetof(s.index) + unsafe.Offsetof(s.index.Count), 0},
		"arena.Segments": {unsafe.Offsetof(s.arena) + unsafe.Offsetof(s.arena.Segments), 0}, "Moves": {unsafe.Offsetof(s.Moves), 1}, "limits": {unsafe.Offsetof(s.limits), 1}, "changes": {unsafe.Offsetof(s.changes), 1},
	} {
		if field.at/line != field.line {
			t.Errorf("%s lies in line %d, not %d", name, field.at/line, field.line)
		}
	}
}
