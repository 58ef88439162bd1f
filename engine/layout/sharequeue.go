package layout

import "encoding/binary"

// The active members of a pool are in a heap by their tags: a grant makes a tag larger, which seldom moves a member by
// more than a level, and the member that gets everything back next is at the front. Tags are compared as differences
// modulo 2^64.

const heapArity = 4

// IsEarlier compares two virtual times.
func IsEarlier(tag, than uint64) bool { return int64(tag-than) < 0 }

// TagAt is the virtual time at which the member at a place of the heap has got all back.
func (p SharePool) TagAt(place int) uint64 { return binary.LittleEndian.Uint64(p[poolHead+8*place:]) }

// EntryAt is the number of the entry at a place of the heap.
func (p SharePool) EntryAt(place int) int { return p.u16(poolHead + 8*p.Room() + 2*place) }

func (p SharePool) put(place int, tag uint64, n int) {
	p.setU64(poolHead+8*place, tag)
	p.setU16(poolHead+8*p.Room()+2*place, n)
	p.Entry(n).setPlace(place)
}

// raise puts an entry at a place, or nearer to the front if its tag is earlier than those there.
func (p SharePool) raise(place int, tag uint64, n int) {
	for place > 0 {
		above := (place - 1) / heapArity
		if !IsEarlier(tag, p.TagAt(above)) {
			break
		}
		p.put(place, p.TagAt(above), p.EntryAt(above))
		place = above
	}
	p.put(place, tag, n)
}

// lower puts an entry at a place, or further from the front if its tag is later than those there.
func (p SharePool) lower(place int, tag uint64, n int) {
	count := p.Active()
	for {
		first := heapArity*place + 1
		if first >= count {
			break
		}
		least, earliest := first, p.TagAt(first)
		for i := first + 1; i < min(first+heapArity, count); i++ {
			if t := p.TagAt(i); IsEarlier(t, earliest) {
				least, earliest = i, t
			}
		}
		if !IsEarlier(earliest, tag) {
			break
		}
		p.put(place, earliest, p.EntryAt(least))
		place = least
	}
	p.put(place, tag, n)
}

// removeFirst removes the member at the front from the heap.
func (p SharePool) removeFirst() {
	last := p.Active() - 1
	tag, n := p.TagAt(last), p.EntryAt(last)
	p.setU64(poolHead+8*last, 0)
	p.setU16(poolHead+8*p.Room()+2*last, 0)
	p.setU16(8, last)
	if last > 0 {
		p.lower(0, tag, n)
	}
}

// DrainOrder visits the active members in the order of their tags, and changes nothing. It has the places that may be
// next, in a heap.
type DrainOrder struct {
	Pool   SharePool
	Places []uint16
}

func (o *DrainOrder) tag(i int) uint64 { return o.Pool.TagAt(int(o.Places[i])) }

// Push adds a place.
func (o *DrainOrder) Push(place int) {
	o.Places = append(o.Places, uint16(place))
	for i := len(o.Places) - 1; i > 0; {
		above := (i - 1) / 2
		if !IsEarlier(o.tag(i), o.tag(above)) {
			break
		}
		o.Places[i], o.Places[above] = o.Places[above], o.Places[i]
		i = above
	}
}

// Next goes on to the next member.
func (o *DrainOrder) Next() {
	place, last := int(o.Places[0]), len(o.Places)-1
	o.Places[0] = o.Places[last]
	o.Places = o.Places[:last]
	for i := 0; 2*i+1 < last; {
		least := 2*i + 1
		if least+1 < last && IsEarlier(o.tag(least+1), o.tag(least)) {
			least++
		}
		if !IsEarlier(o.tag(least), o.tag(i)) {
			break
		}
		o.Places[i], o.Places[least] = o.Places[least], o.Places[i]
		i = least
	}
	for i := heapArity*place + 1; i <= heapArity*place+heapArity && i < o.Pool.Active(); i++ {
		o.Push(i)
	}
}
