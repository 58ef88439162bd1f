package blocks

import (
	"encoding/binary"
)

// Memory hands out zero bytes that hold no pointers, and takes them back.
type Memory interface {
	Block(bytes int) []byte
	Free(b []byte)
}

// Heap is a [Store] in segments of memory. A block stays in its place until it outgrows it, or its segment is compacted:
//
//	offset  size  field
//	0       4     the number of the block; 0 if the block is dead: its number may refer to another place
//	4       4     the bytes of its place, these 12 included: a multiple of 8
//	8       4     the length of its contents
//	12            the contents, and room to grow
//
// The zero value with a memory is ready for use.
type Heap struct {
	Memory   Memory
	refs     []byte // by the numbers of blocks, where the block is; of a number that is free, the next free one
	numbers  uint32 // that were given to blocks: no block has the number 0
	free     uint32 // the first number that is free
	segments []segment
	current  int // the segment to which blocks are appended
	live     int
	marks    Marks
}

type segment struct {
	bytes []byte // nil if the number of the segment is free
	used  int    // bytes in use, dead ones included
	dead  int
}

const (
	blockHead    = 12
	alignment    = 8
	segmentBytes = 64 << 10
	segmentShift = 13 // log2(segmentBytes / alignment): a reference is a segment above a place in units of alignment
	firstSegment = 4 << 10
	growthShare  = 8   // a new segment has room for 1/growthShare of the blocks there are
	firstRefs    = 256 // bytes
	leastRoom    = 64
	deadShare    = 4 // a segment is compacted if 1/deadShare of it is dead
)

func aligned(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

func refOf(number, place int) uint32 { return uint32(number<<segmentShift + place/alignment) }

// at returns a block with its head, and what follows it.
func (h *Heap) at(id uint32) []byte {
	ref := h.ref(id)
	return h.segments[ref>>segmentShift].bytes[ref%(1<<segmentShift)*alignment:]
}

// Block implements [Store].
func (h *Heap) Block(id uint32) []byte {
	b := h.at(id)
	end := blockHead + int(binary.LittleEndian.Uint32(b[8:]))
	return b[blockHead:end:end]
}

// AddCount implements [Store].
func (h *Heap) AddCount(id uint32, child, n int) { inner(h.Block(id)).addCount(child, n) }

func (h *Heap) ref(id uint32) uint32 { return binary.LittleEndian.Uint32(h.refs[4*id:]) }

func (h *Heap) setRef(id, ref uint32) { binary.LittleEndian.PutUint32(h.refs[4*id:], ref) }

// NewID returns the number of a block that is yet to be set.
func (h *Heap) NewID() (id uint32) {
	if id = h.free; id != 0 {
		h.free = h.ref(id)
	} else {
		h.numbers++
		if id = h.numbers; int(4*id) >= len(h.refs) {
			more := h.Memory.Block(max(2*len(h.refs), firstRefs))
			copy(more, h.refs)
			h.freeRefs()
			h.refs = more
		}
	}
	h.setRef(id, noPlace)
	return id
}

func (h *Heap) freeRefs() {
	if h.refs != nil {
		h.Memory.Free(h.refs)
		h.refs = nil
	}
}

// noPlace is the reference of a block that has no place yet.
const noPlace = 1<<32 - 1

// Add implements [Store].
func (h *Heap) Add(contents []byte, isInner bool) (id uint32) {
	id = h.NewID()
	h.Set(id, contents, isInner)
	return id
}

// Set implements [Store].
func (h *Heap) Set(id uint32, contents []byte, _ bool) {
	if h.ref(id) == noPlace {
		h.place(id, contents, 0)
		return
	}
	b := h.at(id)
	if id == h.marks.leaf {
		h.marks.change(h.Block(id), contents)
	}
	if size := int(binary.LittleEndian.Uint32(b[4:])); blockHead+len(contents) <= size {
		binary.LittleEndian.PutUint32(b[8:], uint32(len(contents)))
		copy(b[blockHead:], contents)
		return
	}
	h.vacate(id)
	h.setRef(id, noPlace)
	h.place(id, contents, min(max(len(contents)/8, leastRoom), max(0, leafBytes-len(contents)))) // it grows
}

// place gives a block a place with room to grow.
func (h *Heap) place(id uint32, contents []byte, room int) {
	size := aligned(blockHead + len(contents) + room)
	h.open(size)
	s := &h.segments[h.current]
	h.setRef(id, refOf(h.current, s.used))
	b := s.bytes[s.used : s.used+size]
	s.used += size
	h.live += size
	binary.LittleEndian.PutUint32(b, id)
	binary.LittleEndian.PutUint32(b[4:], uint32(size))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(contents)))
	copy(b[blockHead:], contents)
	if size > segmentBytes {
		h.current = len(h.segments) // nothing follows a block that is larger than a segment
	}
}

// Free implements [Store].
func (h *Heap) Free(id uint32) {
	if id == h.marks.leaf {
		h.marks.leaf = 0
	}
	h.vacate(id)
	if h.live == 0 {
		h.freeRefs()
		h.numbers, h.free = 0, 0
		return
	}
	h.setRef(id, h.free)
	h.free = id
}

// vacate counts the place of a block as dead, and gives its segment back if all of it is.
func (h *Heap) vacate(id uint32) {
	if h.ref(id) == noPlace {
		return
	}
	n, b := int(h.ref(id)>>segmentShift), h.at(id)
	clear(b[:4])
	s, size := &h.segments[n], int(binary.LittleEndian.Uint32(b[4:]))
	h.live -= size
	if s.dead += size; s.dead == s.used && n != h.current {
		h.release(n)
	}
}

func (h *Heap) release(n int) {
	h.Memory.Free(h.segments[n].bytes)
	h.segments[n] = segment{}
	for len(h.segments) > 0 && h.segments[len(h.segments)-1].bytes == nil {
		h.segments = h.segments[:len(h.segments)-1]
	}
}

// open makes a segment with room for some bytes the current one.
func (h *Heap) open(bytes int) {
	if h.current < len(h.segments) {
		if s := &h.segments[h.current]; s.bytes != nil && len(s.bytes)-s.used >= bytes {
			return
		}
	}
	unused, best, gain := -1, -1, 0
	for n := range h.segments {
		s := &h.segments[n]
		if s.bytes == nil {
			unused = n
		}
		if won := len(s.bytes) - s.used + s.dead; len(s.bytes) <= segmentBytes && won >= max(bytes, len(s.bytes)/deadShare) && won > gain {
			best, gain = n, won
		}
	}
	if best >= 0 {
		h.compact(best)
		h.current = best
		return
	}
	if h.current = unused; unused < 0 {
		h.current = len(h.segments)
		h.segments = append(h.segments, segment{})
	}
	size := min(max(h.live/growthShare, firstSegment), segmentBytes)
	size = (size + firstSegment - 1) &^ (firstSegment - 1)
	h.segments[h.current] = segment{bytes: h.Memory.Block(max(size, bytes))}
}

// compact moves the live blocks of a segment together.
func (h *Heap) compact(n int) {
	s, to := &h.segments[n], 0
	h.eachLive(n, func(at, size int) {
		h.setRef(binary.LittleEndian.Uint32(s.bytes[at:]), refOf(n, to))
		to += copy(s.bytes[to:], s.bytes[at:at+size])
	})
	s.used, s.dead = to, 0
}

// eachLive visits the places of the live blocks of a segment.
func (h *Heap) eachLive(n int, visit func(at, size int)) {
	s := &h.segments[n]
	for at := 0; at < s.used; {
		size := int(binary.LittleEndian.Uint32(s.bytes[at+4:]))
		if binary.LittleEndian.Uint32(s.bytes[at:]) != 0 {
			visit(at, size)
		}
		at += size
	}
}

// trimmed bounds the segments that one Trim empties.
const trimmed = 4

// Trim gives memory back where little of a segment is in use.
func (h *Heap) Trim() {
	moved := 0
	for n := 0; n < len(h.segments); n++ {
		s := &h.segments[n]
		if s.bytes == nil || n == h.current && s.used > s.dead || s.used-s.dead > len(s.bytes)/3 || moved == trimmed {
			continue
		}
		moved++
		if n == h.current {
			h.current = len(h.segments)
		}
		var left []uint32
		h.eachLive(n, func(at, _ int) { left = append(left, binary.LittleEndian.Uint32(s.bytes[at:])) })
		for _, id := range left {
			b := append([]byte(nil), h.Block(id)...)
			h.vacate(id)
			h.setRef(id, noPlace)
			h.place(id, b, 0)
		}
		if len(left) == 0 {
			h.release(n)
		}
	}
}

// Live returns the bytes of the places of live blocks.
func (h *Heap) Live() int { return h.live }

// Bytes returns the bytes of memory that the heap has, and the bytes of them in live blocks.
func (h *Heap) Bytes() (held, live int) {
	for n := range h.segments {
		s := &h.segments[n]
		held, live = held+len(s.bytes), live+s.used-s.dead
	}
	return held + len(h.refs), live
}

// Clear gives all memory back.
func (h *Heap) Clear() {
	for n := range h.segments {
		if h.segments[n].bytes != nil {
			h.Memory.Free(h.segments[n].bytes)
		}
	}
	h.freeRefs()
	*h = Heap{Memory: h.Memory}
}
