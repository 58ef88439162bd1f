package keyspace

import "testing"

// Keys whose tags are all near the end of the index are given more room, and gaps that dropped entries leave are
// closed.
func TestIndexResize(t *testing.T) {
	mem := &memory{}
	x := newIndex(minEntries, mem)
	tag := func(i int) uint32 { return 0xf000_0000 + uint32(i)*1000_003 }
	for i := range 200 {
		for !x.insert(tag(i), uint32(i)+1) {
			x.resize(x.room()*5/4+indexTail, mem)
		}
	}
	for at, slot := range x.slots { // every other entry is dropped
		if slot != 0 && uint32(slot)%2 == 0 {
			x.slots[at] = 0
		}
	}
	x.resize(100, mem)
	if x.count != 100 || x.slots[len(x.slots)-1] != 0 {
		t.Fatalf("%d entries, the last slot is %x", x.count, x.slots[len(x.slots)-1])
	}
	for i := 0; i < 200; i += 2 {
		if slot := x.slots[x.seek(tag(i))]; slot != uint64(tag(i))<<32|uint64(i+1) {
			t.Fatalf("entry %d: slot %x", i, slot)
		}
	}
}
