// Package tagindex finds records by the hash of their key.
package tagindex

// Index finds records by the hash of their key: open addressing with linear probing, kept sorted by tag. A slot is a
// tag (the low 32 bits of the hash) above a reference into the arena; zero is an empty slot. A tag's home rises with
// the tag, so the whole table is in tag order: a look-up stops at the first larger tag, a scan can be resumed by tag
// after any number of resizes, and a resize copies slots in one pass.
//
//	slot = tag<<32 | reference
type Index struct {
	Slots []uint64
	homes uint64 // number of slots a tag can call home; the rest is room for the last run
	Count int    // of entries
}

// Memory hands out slots, which are 0, and takes them back.
type Memory interface {
	Slots(n int) []uint64
	FreeSlots(slots []uint64)
}

const (
	// Tail is the number of slots after the last home; the very last one stays empty and ends every probe.
	Tail = 64
	// SlotBytes is the size of a slot.
	SlotBytes     = 8
	indexFullness = 85 // percent of homes in use at which the index grows
)

func newIndex(entries int, mem Memory) Index {
	homes := homesFor(entries)
	return Index{Slots: mem.Slots(homes + Tail), homes: uint64(homes)}
}

// homesFor is the number of homes of an index that has room for entries.
func homesFor(entries int) int { return entries*100/indexFullness + 1 }

// Room is the number of entries at which the index grows.
func (x *Index) Room() int { return int(x.homes * indexFullness / 100) }

// BytesFor is the size of an index with room for entries.
func BytesFor(entries int) int64 {
	return int64(homesFor(entries)+Tail) * SlotBytes
}

// Free gives the slots back.
func (x *Index) Free(mem Memory) { mem.FreeSlots(x.Slots); x.Slots = nil }

// Bytes is the size of the index.
func (x *Index) Bytes() int64 { return int64(len(x.Slots)) * SlotBytes }

// Home is the first slot in which a tag may be.
func (x *Index) Home(tag uint32) uint64 { return uint64(tag) * x.homes >> 32 }

// TagOf is the tag in a slot.
func TagOf(slot uint64) uint32 { return uint32(slot >> 32) }

// Touch reads the first slot that a look-up of tag will read, so that the processor fetches it. Callers keep the value,
// because the compiler leaves out a load whose value nobody uses.
func (x *Index) Touch(tag uint32) uint64 {
	if x.Count == 0 {
		return 0
	}
	return x.Slots[x.Home(tag)]
}

// Seek returns the position of the first slot at or after tag's home that is empty or has a tag not below tag.
func (x *Index) Seek(tag uint32) uint64 {
	at := x.Home(tag)
	for x.Slots[at] != 0 && TagOf(x.Slots[at]) < tag {
		at++
	}
	return at
}

// Lacks reports whether that many more entries would fill the index too much.
func (x *Index) Lacks(more int) bool {
	return more > 0 && (len(x.Slots) == 0 || uint64(x.Count+more-1)*100 >= x.homes*indexFullness)
}

// Insert adds a slot; it reports false, having changed nothing, when the run at the end of the table has no room left.
func (x *Index) Insert(tag uint32, ref uint32) bool {
	at := x.Seek(tag)
	end := at
	for x.Slots[end] != 0 {
		end++
	}
	if end == uint64(len(x.Slots))-1 {
		return false
	}
	copy(x.Slots[at+1:end+1], x.Slots[at:end])
	x.Slots[at] = uint64(tag)<<32 | uint64(ref)
	x.Count++
	return true
}

// Resize gives the index room for entries: at least as many as it holds, and more where its last run would outgrow its
// room. It needs only the slots, and closes gaps between them.
func (x *Index) Resize(entries int, mem Memory) {
	for {
		to := newIndex(entries, mem)
		if to.append(x.Slots) {
			x.Free(mem)
			*x = to
			return
		}
		to.Free(mem)
		entries += entries/4 + Tail
	}
}

// append fills an empty index with slots, which are in the order of their tags. It reports false when the run at the
// end of the table has no room left.
func (x *Index) append(slots []uint64) bool {
	next := uint64(0)
	for _, slot := range slots {
		if slot == 0 {
			continue
		}
		next = max(next, x.Home(TagOf(slot)))
		if next == uint64(len(x.Slots))-1 {
			return false
		}
		x.Slots[next] = slot
		next++
		x.Count++
	}
	return true
}

// Remove empties the slot at a position and moves the run after it up.
func (x *Index) Remove(at uint64) {
	next := at + 1
	for x.Slots[next] != 0 && x.Home(TagOf(x.Slots[next])) < next {
		x.Slots[next-1] = x.Slots[next]
		next++
	}
	x.Slots[next-1] = 0
	x.Count--
}
