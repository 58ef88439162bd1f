package keyspace

// index finds records by the hash of their key: open addressing with linear probing, kept sorted by tag. A slot is a
// tag (the low 32 bits of the hash) above a reference into the arena; zero is an empty slot. A tag's home rises with
// the tag, so the whole table is in tag order: a look-up stops at the first larger tag, a scan can be resumed by tag
// after any number of resizes, and a resize copies slots in one pass.
//
//	slot = tag<<32 | reference
type index struct {
	slots []uint64
	homes uint64 // number of slots a tag can call home; the rest is room for the last run
	count int
}

const (
	indexTail     = 64 // slots after the last home; the very last stays empty and ends every probe
	slotBytes     = 8
	indexFullness = 85 // percent of homes in use at which the index grows
)

func newIndex(entries int, mem *memory) index {
	homes := homesFor(entries)
	return index{slots: mem.slots(homes + indexTail), homes: uint64(homes)}
}

// homesFor is the number of homes of an index that has room for entries.
func homesFor(entries int) int { return entries*100/indexFullness + 1 }

// room is the number of entries at which the index grows.
func (x *index) room() int { return int(x.homes * indexFullness / 100) }

func indexBytes(entries int) int64 {
	return int64(homesFor(entries)+indexTail) * slotBytes
}

func (x *index) free(mem *memory) { mem.freeSlots(x.slots); x.slots = nil }

func (x *index) bytes() int64 { return int64(len(x.slots)) * slotBytes }

func (x *index) home(tag uint32) uint64 { return uint64(tag) * x.homes >> 32 }

func slotTag(slot uint64) uint32 { return uint32(slot >> 32) }

// touch reads the first slot that a look-up of tag will read, so that the processor fetches it. Callers keep the value,
// because the compiler leaves out a load whose value nobody uses.
func (x *index) touch(tag uint32) uint64 {
	if x.count == 0 {
		return 0
	}
	return x.slots[x.home(tag)]
}

// seek returns the position of the first slot at or after tag's home that is empty or has a tag not below tag.
func (x *index) seek(tag uint32) uint64 {
	at := x.home(tag)
	for x.slots[at] != 0 && slotTag(x.slots[at]) < tag {
		at++
	}
	return at
}

// lacks reports whether that many more entries would fill the index too much.
func (x *index) lacks(more int) bool {
	return more > 0 && (len(x.slots) == 0 || uint64(x.count+more-1)*100 >= x.homes*indexFullness)
}

// insert adds a slot; it reports false, having changed nothing, when the run at the end of the table has no room left.
func (x *index) insert(tag uint32, ref uint32) bool {
	at := x.seek(tag)
	end := at
	for x.slots[end] != 0 {
		end++
	}
	if end == uint64(len(x.slots))-1 {
		return false
	}
	copy(x.slots[at+1:end+1], x.slots[at:end])
	x.slots[at] = uint64(tag)<<32 | uint64(ref)
	x.count++
	return true
}

// resize gives the index room for entries: at least as many as it holds, and more where its last run would outgrow its
// room. It needs only the slots, and closes gaps between them.
func (x *index) resize(entries int, mem *memory) {
	for {
		to := newIndex(entries, mem)
		if to.append(x.slots) {
			x.free(mem)
			*x = to
			return
		}
		to.free(mem)
		entries += entries/4 + indexTail
	}
}

// append fills an empty index with slots, which are in the order of their tags. It reports false when the run at the
// end of the table has no room left.
func (x *index) append(slots []uint64) bool {
	next := uint64(0)
	for _, slot := range slots {
		if slot == 0 {
			continue
		}
		next = max(next, x.home(slotTag(slot)))
		if next == uint64(len(x.slots))-1 {
			return false
		}
		x.slots[next] = slot
		next++
		x.count++
	}
	return true
}

// remove empties the slot at a position and moves the run after it up.
func (x *index) remove(at uint64) {
	next := at + 1
	for x.slots[next] != 0 && x.home(slotTag(x.slots[next])) < next {
		x.slots[next-1] = x.slots[next]
		next++
	}
	x.slots[next-1] = 0
	x.count--
}
