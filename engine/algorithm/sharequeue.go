package algorithm

import "encoding/binary"

// The active members of a pool are in a heap by their tags: a grant makes a tag larger, which seldom moves a member by more than a
// level, and the member that gets everything back next is at the front. Tags are compared as differences modulo 2^64.

const heapArity = 4

func isEarlier(tag, than uint64) bool { return int64(tag-than) < 0 }

func (p SharePool) tagAt(place int) uint64 { return binary.LittleEndian.Uint64(p[poolHead+8*place:]) }
func (p SharePool) entryAt(place int) int  { return p.u16(poolHead + 8*p.room() + 2*place) }

func (p SharePool) put(place int, tag uint64, n int) {
	p.setU64(poolHead+8*place, tag)
	p.setU16(poolHead+8*p.room()+2*place, n)
	p.entry(n).setPlace(place)
}

// raise puts an entry at a place, or nearer to the front if its tag is earlier than those there.
func (p SharePool) raise(place int, tag uint64, n int) {
	for place > 0 {
		above := (place - 1) / heapArity
		if !isEarlier(tag, p.tagAt(above)) {
			break
		}
		p.put(place, p.tagAt(above), p.entryAt(above))
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
		least, earliest := first, p.tagAt(first)
		for i := first + 1; i < min(first+heapArity, count); i++ {
			if t := p.tagAt(i); isEarlier(t, earliest) {
				least, earliest = i, t
			}
		}
		if !isEarlier(earliest, tag) {
			break
		}
		p.put(place, earliest, p.entryAt(least))
		place = least
	}
	p.put(place, tag, n)
}

// removeFirst removes the member at the front from the heap.
func (p SharePool) removeFirst() {
	last := p.Active() - 1
	tag, n := p.tagAt(last), p.entryAt(last)
	p.setU64(poolHead+8*last, 0)
	p.setU16(poolHead+8*p.room()+2*last, 0)
	p.setU16(8, last)
	if last > 0 {
		p.lower(0, tag, n)
	}
}

// drainOrder visits the active members in the order of their tags, and changes nothing. It has the places that may be next, in a heap.
type drainOrder struct {
	pool   SharePool
	places []uint16
}

func (o *drainOrder) tag(i int) uint64 { return o.pool.tagAt(int(o.places[i])) }

func (o *drainOrder) push(place int) {
	o.places = append(o.places, uint16(place))
	for i := len(o.places) - 1; i > 0; {
		above := (i - 1) / 2
		if !isEarlier(o.tag(i), o.tag(above)) {
			break
		}
		o.places[i], o.places[above] = o.places[above], o.places[i]
		i = above
	}
}

// next goes on to the next member.
func (o *drainOrder) next() {
	place, last := int(o.places[0]), len(o.places)-1
	o.places[0] = o.places[last]
	o.places = o.places[:last]
	for i := 0; 2*i+1 < last; {
		least := 2*i + 1
		if least+1 < last && isEarlier(o.tag(least+1), o.tag(least)) {
			least++
		}
		if !isEarlier(o.tag(least), o.tag(i)) {
			break
		}
		o.places[i], o.places[least] = o.places[least], o.places[i]
		i = least
	}
	for i := heapArity*place + 1; i <= heapArity*place+heapArity && i < o.pool.Active(); i++ {
		o.push(i)
	}
}
