package tagindex

import "testing"

type heap struct{}

func (heap) Slots(n int) []uint64 { return make([]uint64, n) }
func (heap) FreeSlots([]uint64)   {}

// Keys whose tags are all near the end of the index are given more room, and gaps that dropped entries leave are
// closed.
func TestIndexResize(t *testing.T) {
	mem := heap{}
	x := newIndex(16, mem)
	tag := func(i int) uint32 { return 0xf000_0000 + uint32(i)*1000_003 }
	for i := range 200 {
		for !x.Insert(tag(i), uint32(i)+1) {
			x.Resize(x.Room()*5/4+Tail, mem)
		}
	}
	for at, slot := range x.Slots { // every other entry is dropped
		if slot != 0 && uint32(slot)%2 == 0 {
			x.Slots[at] = 0
		}
	}
	x.Resize(100, mem)
	if x.Count != 100 || x.Slots[len(x.Slots)-1] != 0 {
		t.Fatalf("%d entries, the last slot is %x", x.Count, x.Slots[len(x.Slots)-1])
	}
	for i := 0; i < 200; i += 2 {
		if slot := x.Slots[x.Seek(tag(i))]; slot != uint64(tag(i))<<32|uint64(i+1) {
			t.Fatalf("entry %d: slot %x", i, slot)
		}
	}
}
