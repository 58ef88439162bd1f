package layout

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/stintdb/stint/engine"
)

// SharePool is the state of a fair share: the meter of the whole pool, and its active members, which are the members
// that have taken tokens that the refill has not given back to them yet. It counts what a member has taken in units of
// 2^-20 tokens.
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       2     members there is room for, a power of two
//	6       2     entries that have been in use
//	8       2     active members
//	10      2     1 + the number of the first free entry among those, 0 if there is none
//	12      2     bytes of room for a name
//	16      16    the meter
//	32      8     the time up to which the refill has been shared, nanoseconds since the Unix epoch
//	40      8     virtual time: the units that a member of weight 1 has got back, modulo 2^64
//	48      8     refilled ticks that are less than a unit
//	56      4     refilled units that are too few to be shared by the weights
//	60      4     sum of the weights of the active members
//	64      8     seed of the table
//	72      …     active members in a heap: the tag of each, the virtual time at which all is given back, 8 bytes
//	…       …     the numbers of their entries in the same order: 2 bytes each
//	…       …     table by name, open addressing: 2 bytes each, 1 + the number of an entry, 0 for none
//	…       …     entries: 4 hash, in a free one the field at 10 of the next; 2 weight, 2 place in the heap, 1 length of the name,
//	              3 unused, the name
type SharePool []byte

const (
	poolHead    = 72
	entryHead   = 12
	memberBytes = 8 + 2 + 2*tableFactor // beside the entry
	// PoolMinRoom is the least room for members.
	PoolMinRoom = 4
	// PoolMinName is the least room for a name.
	PoolMinName = 16
	tableFactor = 2 // places of the table for a member
	// UnitBits is the number of bits of a token's fraction.
	UnitBits = 20
	// UnitsOfToken is the number of units of a token, in which shares are counted.
	UnitsOfToken = 1 << UnitBits
)

func (p SharePool) u16(at int) int       { return int(binary.LittleEndian.Uint16(p[at:])) }
func (p SharePool) setU16(at, value int) { binary.LittleEndian.PutUint16(p[at:], uint16(value)) }
func (p SharePool) u32(at int) uint32    { return binary.LittleEndian.Uint32(p[at:]) }
func (p SharePool) u64(at int) uint64    { return binary.LittleEndian.Uint64(p[at:]) }

func (p SharePool) setU32(at int, value uint32) { binary.LittleEndian.PutUint32(p[at:], value) }
func (p SharePool) setU64(at int, value uint64) { binary.LittleEndian.PutUint64(p[at:], value) }

// Room is the number of members there is room for.
func (p SharePool) Room() int { return p.u16(4) }

// Active is the number of members that have taken tokens lately.
func (p SharePool) Active() int { return p.u16(8) }

// NameRoom is the bytes of room for a name.
func (p SharePool) NameRoom() int { return p.u16(12) }

// Meter is the meter of the whole pool.
func (p SharePool) Meter() Meter { return LoadMeter(p[16:]) }

// SharedTo is the time up to which the refill has been shared.
func (p SharePool) SharedTo() int64 { return int64(p.u64(32)) }

// Virtual is the virtual time then: the units that a member of weight 1 has got back.
func (p SharePool) Virtual() uint64 { return p.u64(40) }

// RestTicks is the refilled ticks that are less than a unit.
func (p SharePool) RestTicks() uint64 { return p.u64(48) }

// RestUnits is the refilled units that are too few to be shared.
func (p SharePool) RestUnits() uint32 { return p.u32(56) }

// Weights is the sum of the weights of the active members.
func (p SharePool) Weights() uint32 { return p.u32(60) }
func (p SharePool) table() []byte   { return p[poolHead+10*p.Room():] }
func (p SharePool) slot(i int) int  { return int(binary.LittleEndian.Uint16(p.table()[2*i:])) }
func (p SharePool) setSlot(i, value int) {
	binary.LittleEndian.PutUint16(p.table()[2*i:], uint16(value))
}

// Entry returns an entry by its number.
func (p SharePool) Entry(n int) ShareEntry {
	size := entryHead + p.NameRoom()
	at := poolHead + memberBytes*p.Room() + n*size
	return ShareEntry(p[at : at+size : at+size])
}

// ShareEntry is a member in a pool.
type ShareEntry []byte

func (e ShareEntry) hash() uint32 { return binary.LittleEndian.Uint32(e) }

// Weight is the weight of the member.
func (e ShareEntry) Weight() uint32 { return uint32(binary.LittleEndian.Uint16(e[4:])) }

// Place is its place in the heap.
func (e ShareEntry) Place() int { return int(binary.LittleEndian.Uint16(e[6:])) }

// Name is its name.
func (e ShareEntry) Name() []byte { return e[entryHead : entryHead+int(e[8])] }

func (e ShareEntry) setHash(h uint32)   { binary.LittleEndian.PutUint32(e, h) }
func (e ShareEntry) setWeight(w uint32) { binary.LittleEndian.PutUint16(e[4:], uint16(w)) }
func (e ShareEntry) setPlace(i int)     { binary.LittleEndian.PutUint16(e[6:], uint16(i)) }

// ShareBytes is the size of a state with room for some members and for names of some bytes.
func ShareBytes(room, nameRoom int) int {
	return poolHead + room*(memberBytes+entryHead+nameRoom)
}

// hash is a hash of a name that a client cannot foresee, because the seed comes from the time of the pool's first
// grant.
func (p SharePool) hash(name []byte) uint32 {
	h := p.u64(64) ^ uint64(len(name))
	for ; len(name) > 8; name = name[8:] {
		h = fold(h ^ binary.LittleEndian.Uint64(name))
	}
	var tail [8]byte
	copy(tail[:], name)
	return uint32(fold(fold(h ^ binary.LittleEndian.Uint64(tail[:]))))
}

func fold(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x2545f4914f6cdd1d, 0xd1342543de82ef95)
	return hi ^ lo
}

// Find returns the number of a member's entry, and the slots of the table that it looked at.
func (p SharePool) Find(name []byte) (entry, steps int, found bool) {
	if p.Room() == 0 {
		return 0, 0, false
	}
	h, mask := p.hash(name), tableFactor*p.Room()-1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		at := p.slot(i)
		if at == 0 {
			return 0, steps, false
		}
		if e := p.Entry(at - 1); e.hash() == h && bytes.Equal(e.Name(), name) {
			return at - 1, steps, true
		}
		steps++
	}
}

// Add puts a new member with a tag among the active ones. There is room for it.
func (p SharePool) Add(name []byte, weight uint32, tag uint64) {
	n := p.u16(10) - 1
	if n >= 0 {
		p.setU16(10, int(p.Entry(n).hash()))
	} else {
		n = p.u16(6)
		p.setU16(6, n+1)
	}
	e := p.Entry(n)
	clear(e)
	e[8] = byte(len(name))
	copy(e[entryHead:], name)
	e.setHash(p.hash(name))
	e.setWeight(weight)
	mask := tableFactor*p.Room() - 1
	i := int(e.hash()) & mask
	for p.slot(i) != 0 {
		i = (i + 1) & mask
	}
	p.setSlot(i, n+1)
	p.setU16(8, p.Active()+1)
	p.raise(p.Active()-1, tag, n)
	p.setU32(60, p.Weights()+weight)
}

// Change gives an active member another weight and another tag.
func (p SharePool) Change(n int, weight uint32, tag uint64) {
	e := p.Entry(n)
	p.setU32(60, p.Weights()-e.Weight()+weight)
	e.setWeight(weight)
	if place := e.Place(); IsEarlier(tag, p.TagAt(place)) {
		p.raise(place, tag, n)
	} else {
		p.lower(place, tag, n)
	}
}

// dropFirst removes the members with the earliest tags.
func (p SharePool) dropFirst(members int) {
	for range members {
		n := p.EntryAt(0)
		e := p.Entry(n)
		p.removeFirst()
		p.setU32(60, p.Weights()-e.Weight())
		p.unlist(n, e.hash())
		clear(e)
		e.setHash(uint32(p.u16(10)))
		p.setU16(10, n+1)
	}
}

// unlist removes an entry from the table. Later entries of its run move up, so that none is behind a gap.
func (p SharePool) unlist(n int, hash uint32) {
	mask := tableFactor*p.Room() - 1
	gap := int(hash) & mask
	for p.slot(gap) != n+1 {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; p.slot(i) != 0; i = (i + 1) & mask {
		home := int(p.Entry(p.slot(i)-1).hash()) & mask
		if (i-home)&mask >= (i-gap)&mask {
			p.setSlot(gap, p.slot(i))
			gap = i
		}
	}
	p.setSlot(gap, 0)
}

// Enlarge lays a state out again, in a larger one that begins with it.
func (p SharePool) Enlarge(room, nameRoom int) {
	old := SharePool(bytes.Clone(p[:ShareBytes(p.Room(), p.NameRoom())]))
	clear(p[VariableHead:])
	copy(p[16:poolHead], old[16:poolHead])
	p.setU16(4, room)
	p.setU16(12, nameRoom)
	p.setU32(60, 0)
	for i := range old.Active() {
		e := old.Entry(old.EntryAt(i))
		p.Add(e.Name(), e.Weight(), old.TagAt(i))
	}
}

// ValidShares reports whether all that a state refers to lies within it.
func ValidShares(state []byte) bool {
	p := SharePool(state)
	if len(p) < poolHead {
		return false
	}
	room, used, count := p.Room(), p.u16(6), p.Active()
	nameRoom := p.NameRoom()
	if room < PoolMinRoom || room > engine.MaxMembers || room&(room-1) != 0 || nameRoom < PoolMinName || nameRoom > engine.Align(engine.MaxHolderBytes) || nameRoom%engine.RecordAlign != 0 ||
		len(p) != ShareBytes(room, nameRoom) || used > room || count > used || p.u16(14) != 0 {
		return false
	}
	var seen [engine.MaxMembers]bool
	weights := uint32(0)
	for i := range count {
		n := p.EntryAt(i)
		if n >= used || seen[n] || i > 0 && IsEarlier(p.TagAt(i), p.TagAt((i-1)/heapArity)) {
			return false
		}
		seen[n] = true
		e := p.Entry(n)
		weights += e.Weight()
		if w := e.Weight(); w == 0 || w > engine.MaxWeight || e.Place() != i || e[8] == 0 || int(e[8]) > nameRoom || p.TagAt(i)-p.Virtual()-1 >= 1<<62/uint64(w) {
			return false
		}
	}
	free := 0
	for at := p.u16(10); at != 0; free++ {
		if at > used || seen[at-1] {
			return false
		}
		seen[at-1] = true
		next := p.Entry(at - 1).hash()
		if next > engine.MaxMembers {
			return false
		}
		at = int(next)
	}
	return free == used-count && weights == p.Weights() && p.RestUnits() < engine.MaxMembers*engine.MaxWeight && p.validTable()
}

// validTable reports whether the table has the active members and nothing else.
func (p SharePool) validTable() bool {
	listed := 0
	for i := range tableFactor * p.Room() {
		if at := p.slot(i); at > p.u16(6) {
			return false
		} else if at != 0 {
			listed++
		}
	}
	if listed != p.Active() {
		return false // find ends at an empty place: there are twice as many as members
	}
	for i := range listed {
		n := p.EntryAt(i)
		if at, _, found := p.Find(p.Entry(n).Name()); !found || at != n {
			return false
		}
	}
	return true
}

// Begin begins an empty pool at a time, by which the table is seeded.
func (p SharePool) Begin(now int64) {
	p.setU64(64, fold(uint64(now)))
	p.setU64(32, uint64(now))
}

// ShareRefill shares the refill up to a time: virtual time then, the refill that is too little to be shared yet, and
// the number of members that have got all back.
func (p SharePool) ShareRefill(drained int, to int64, virtual, restTicks uint64, restUnits uint32) {
	p.dropFirst(drained)
	p.setU64(32, uint64(to))
	p.setU64(40, virtual)
	p.setU64(48, restTicks)
	p.setU32(56, restUnits)
}
