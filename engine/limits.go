package engine

// interned keeps each distinct limit of a shard once, counted by the entries that use it, so that an entry holds a
// 4-byte id instead of 32 bytes of parameters. Ids are reused when the last entry lets go: a client that sends other
// parameters with every call cannot make the table outgrow the number of keys.
type interned struct {
	limits []Limit
	users  []uint32
	ids    map[Limit]uint32
	free   []uint32
	mem    *memory
	last   uint32 // the id used last: new keys mostly come with the limit of the one before
}

// internedBytes is about what one distinct limit costs in the slices and the map.
const internedBytes = 112

func (t *interned) acquire(l Limit) uint32 {
	if int(t.last) < len(t.limits) && t.limits[t.last] == l {
		t.users[t.last]++
		return t.last
	}
	id, known := t.ids[l]
	if !known {
		id = t.add(l)
	}
	t.users[id]++
	t.last = id
	return id
}

func (t *interned) add(l Limit) uint32 {
	if t.ids == nil {
		t.ids = make(map[Limit]uint32)
	}
	var id uint32
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
		t.limits[id] = l
	} else {
		id = uint32(len(t.limits))
		t.limits, t.users = append(t.limits, l), append(t.users, 0)
		t.mem.used.Add(internedBytes)
	}
	t.ids[l] = id
	return id
}

func (t *interned) release(id uint32) {
	t.users[id]--
	if t.users[id] == 0 {
		delete(t.ids, t.limits[id])
		t.limits[id] = Limit{}
		t.free = append(t.free, id)
	}
}

func (t *interned) clear() {
	t.mem.used.Add(-internedBytes * int64(len(t.limits)))
	*t = interned{mem: t.mem}
}
