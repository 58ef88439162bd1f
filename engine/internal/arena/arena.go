// Package arena keeps records in segments of memory.
package arena

import "github.com/stintdb/stint/engine"

// Arena is where a shard keeps its records, in segments. New records go into the current segment. When it is full,
// another is added or compacted, and the records of the others do not move.
//
// A reference to a record is the number of its segment above its place there, in units of recordAlign, plus one. A
// segment of more than SegmentBytes has several numbers in a row.
type Arena struct {
	Segments []Segment // by number
	Current  int       // number of the segment to which records are appended
}

// Segment is a block of records.
type Segment struct {
	Bytes []byte // nil if the number is free
	Used  int    // bytes in use, dead ones included
	Dead  int    // bytes of deleted records

	// part is not 0 for the further numbers of a segment: the distance from its first one. Their bytes are its bytes from
	// there on, and only the first one counts.
	Part int
}

const (
	// SegmentBytes is the size of a full segment. A larger one has a single record.
	SegmentBytes = 64 << 10
	// SegmentShift is the number of bits of a place in a reference.
	SegmentShift = 13                       // log2(SegmentBytes / recordAlign)
	maxSegments  = 1<<(32-SegmentShift) - 1 // so that no reference is 0
	// PageBytes is the size of a page of memory.
	PageBytes = 4 << 10
)

// SegmentOf is the number in a reference.
func SegmentOf(ref uint32) uint32 { return (ref - 1) >> SegmentShift }

// RefOf returns the reference to the record that begins at a place, in bytes, of the segment with a number.
func RefOf(number, place int) uint32 {
	return uint32(number<<SegmentShift+place/engine.RecordAlign) + 1
}

// Record returns the bytes from a record on.
func (a *Arena) Record(ref uint32) []byte {
	ref--
	return a.Segments[ref>>SegmentShift].Bytes[ref%(1<<SegmentShift)*engine.RecordAlign:]
}

// FirstNumber is the first number of the segment with a reference.
func (a *Arena) FirstNumber(ref uint32) int {
	n := int(SegmentOf(ref))
	return n - a.Segments[n].Part
}

// Live is the bytes of records that are not deleted.
func (s *Segment) Live() int { return s.Used - s.Dead }

// Room is the bytes that can be appended.
func (s *Segment) Room() int { return len(s.Bytes) - s.Used }

// Numbers is how many numbers a block takes.
func Numbers(bytes int) int { return (bytes + SegmentBytes - 1) / SegmentBytes }

// Room is the bytes that can be appended to the current segment.
func (a *Arena) Room() int {
	if a.Current >= len(a.Segments) {
		return 0
	}
	return a.Segments[a.Current].Room()
}

// Append makes a reference to the next bytes of the current segment, which has the room.
func (a *Arena) Append(bytes int) (ref uint32) {
	s := &a.Segments[a.Current]
	ref = RefOf(a.Current, s.Used)
	s.Used += bytes
	return ref
}

// Each calls f for every segment.
func (a *Arena) Each(f func(number int, s *Segment)) {
	for n := 0; n < len(a.Segments); n++ { // f may take Segments out
		if s := &a.Segments[n]; s.Bytes != nil && s.Part == 0 {
			f(n, s)
		}
	}
}

// Totals are the sums over all segments.
func (a *Arena) Totals() (bytes, used, dead int) {
	a.Each(func(_ int, s *Segment) { bytes, used, dead = bytes+len(s.Bytes), used+s.Used, dead+s.Dead })
	return bytes, used, dead
}

// Add gives a block the first numbers that are free. It returns false when there are none left.
func (a *Arena) Add(block []byte) (number int, ok bool) {
	need, free := Numbers(len(block)), 0
	for number = 0; number < len(a.Segments) && free < need; number++ {
		if free++; a.Segments[number].Bytes != nil {
			free = 0
		}
	}
	number -= free
	if number+need > maxSegments {
		return 0, false
	}
	for len(a.Segments) < number+need {
		a.Segments = append(a.Segments, Segment{})
	}
	a.set(number, block)
	return number, true
}

// set makes a block the segment of a number, and of those that follow.
func (a *Arena) set(number int, block []byte) {
	for part := range Numbers(len(block)) {
		a.Segments[number+part] = Segment{Bytes: block[part*SegmentBytes:], Part: part}
	}
}

// Replace puts another block, which takes no more numbers, in place of the block of a segment, and returns the old one.
// With nil the numbers become free.
func (a *Arena) Replace(number int, block []byte) (old []byte) {
	old = a.Segments[number].Bytes
	clear(a.Segments[number : number+Numbers(len(old))])
	a.set(number, block)
	for len(a.Segments) > 0 && a.Segments[len(a.Segments)-1].Bytes == nil {
		a.Segments = a.Segments[:len(a.Segments)-1]
	}
	if block == nil && number == a.Current {
		a.Current = 0 // which is never a part of another
	}
	return old
}
