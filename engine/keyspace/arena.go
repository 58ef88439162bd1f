package keyspace

import "github.com/stintdb/stint/engine"

// arena is where a shard keeps its records, in segments. New records go into the current segment. When it is full,
// another is added or compacted, and the records of the others do not move.
//
// A reference to a record is the number of its segment above its place there, in units of recordAlign, plus one. A
// segment of more than segmentBytes has several numbers in a row.
type arena struct {
	segments []segment // by number
	current  int       // number of the segment to which records are appended
	turn     int       // number of the segment in which makeRoom looked for expired entries last
}

// segment is a block of records.
type segment struct {
	bytes []byte // nil if the number is free
	used  int    // bytes in use, dead ones included
	dead  int    // bytes of deleted records

	// part is not 0 for the further numbers of a segment: the distance from its first one. Their bytes are its bytes from
	// there on, and only the first one counts.
	part int
}

const (
	segmentBytes = 64 << 10
	segmentShift = 13                       // log2(segmentBytes / recordAlign)
	maxSegments  = 1<<(32-segmentShift) - 1 // so that no reference is 0
	pageBytes    = 4 << 10
)

// segmentOf is the number in a reference.
func segmentOf(ref uint32) uint32 { return (ref - 1) >> segmentShift }

// refOf is the reference of a record at a place in a segment.
func refOf(number, place int) uint32 {
	return uint32(number<<segmentShift+place/engine.RecordAlign) + 1
}

func (a *arena) record(ref uint32) record {
	ref--
	return record(a.segments[ref>>segmentShift].bytes[ref%(1<<segmentShift)*engine.RecordAlign:])
}

// firstNumber is the first number of the segment with a reference.
func (a *arena) firstNumber(ref uint32) int {
	n := int(segmentOf(ref))
	return n - a.segments[n].part
}

// live is the bytes of records that are not deleted.
func (s *segment) live() int { return s.used - s.dead }

// room is the bytes that can be appended.
func (s *segment) room() int { return len(s.bytes) - s.used }

// numbers is how many numbers a block takes.
func numbers(bytes int) int { return (bytes + segmentBytes - 1) / segmentBytes }

// room is the bytes that can be appended to the current segment.
func (a *arena) room() int {
	if a.current >= len(a.segments) {
		return 0
	}
	return a.segments[a.current].room()
}

// append makes a reference to the next bytes of the current segment, which has the room.
func (a *arena) append(bytes int) (ref uint32) {
	s := &a.segments[a.current]
	ref = refOf(a.current, s.used)
	s.used += bytes
	return ref
}

// each calls f for every segment.
func (a *arena) each(f func(number int, s *segment)) {
	for n := 0; n < len(a.segments); n++ { // f may take segments out
		if s := &a.segments[n]; s.bytes != nil && s.part == 0 {
			f(n, s)
		}
	}
}

// totals are the sums over all segments.
func (a *arena) totals() (bytes, used, dead int) {
	a.each(func(_ int, s *segment) { bytes, used, dead = bytes+len(s.bytes), used+s.used, dead+s.dead })
	return bytes, used, dead
}

// add gives a block the first numbers that are free. It returns false when there are none left.
func (a *arena) add(block []byte) (number int, ok bool) {
	need, free := numbers(len(block)), 0
	for number = 0; number < len(a.segments) && free < need; number++ {
		if free++; a.segments[number].bytes != nil {
			free = 0
		}
	}
	number -= free
	if number+need > maxSegments {
		return 0, false
	}
	for len(a.segments) < number+need {
		a.segments = append(a.segments, segment{})
	}
	a.set(number, block)
	return number, true
}

// set makes a block the segment of a number, and of those that follow.
func (a *arena) set(number int, block []byte) {
	for part := range numbers(len(block)) {
		a.segments[number+part] = segment{bytes: block[part*segmentBytes:], part: part}
	}
}

// replace puts another block, which takes no more numbers, in place of the block of a segment, and returns the old one.
// With nil the numbers become free.
func (a *arena) replace(number int, block []byte) (old []byte) {
	old = a.segments[number].bytes
	clear(a.segments[number : number+numbers(len(old))])
	a.set(number, block)
	for len(a.segments) > 0 && a.segments[len(a.segments)-1].bytes == nil {
		a.segments = a.segments[:len(a.segments)-1]
	}
	if block == nil && number == a.current {
		a.current = 0 // which is never a part of another
	}
	return old
}
