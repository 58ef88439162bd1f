package layout

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Segments is a sliding window that is cut into segments, each beginning at a multiple of its width since the Unix
// epoch: the tokens granted in the present segment, and in each of the n before it, of which the oldest may have left
// the window in part. As bytes:
//
//	offset  size  field
//	0       4     size of the state in bytes
//	4       4     the warned bit, and zeros
//	8       8     start of the newest segment, nanoseconds since the Unix epoch
//	16      6     tokens granted in the newest segment; then, in as many bytes each, in those before it
type Segments struct {
	Start, Width int64 // of the present segment
	n            int   // segments of a window
	counts       [limits.MaxSegments + 1]int64
}

const (
	// SegmentsWarnedAt is the byte with [WarnedBit].
	SegmentsWarnedAt = 7

	segmentsHead = 16
	segmentBytes = 6 // a limit and a debt take 41 bits
)

// SegmentsBytes is the size of the state of a window of n segments.
func SegmentsBytes(n uint8) int { return engine.Align(segmentsHead + (int(n)+1)*segmentBytes) }

// LoadSegments reads a state that was written under one limit as another sees it at a time. Tokens of a segment of
// another width count as if they had been granted at its end, so that none leaves too early. If the clock went back,
// the newest segment stays the present one.
func LoadSegments(state []byte, wrote, l *limits.Limit, now int64) (s Segments) {
	start, width := int64(binary.LittleEndian.Uint64(state[8:])), wrote.Segment()
	now = max(now, start)
	s.Width, s.n = l.Segment(), int(l.Segments)
	s.Start = now - FloorMod(now, s.Width)
	left := int64(wrote.Segments) + 1 - (now-start)/width // segments that have not left the window that they were in
	for i := range min(left, int64(len(state)-segmentsHead)/segmentBytes) {
		b := state[segmentsHead+i*segmentBytes:]
		count := int64(binary.LittleEndian.Uint32(b)) | int64(binary.LittleEndian.Uint16(b[4:]))<<32
		if count == 0 {
			continue
		}
		last := min(now, start+(1-i)*width-1)
		if age := (s.Start - last + FloorMod(last, s.Width)) / s.Width; age >= 0 && age <= int64(s.n) {
			s.counts[age] += count
		}
	}
	return s
}

// Store writes the state, but for the warned bit.
func (s *Segments) Store(state []byte) {
	binary.LittleEndian.PutUint64(state[8:], uint64(s.Start))
	clear(state[segmentsHead:])
	for i, count := range s.counts[:s.n+1] {
		b := state[segmentsHead+i*segmentBytes:]
		binary.LittleEndian.PutUint32(b, uint32(count))
		binary.LittleEndian.PutUint16(b[4:], uint16(count>>32))
	}
}

// Used is the tokens that count.
func (s *Segments) Used() (tokens int64) {
	for _, count := range s.counts[:s.n+1] {
		tokens += count
	}
	return tokens
}

// Add grants tokens in the present segment.
func (s *Segments) Add(tokens int64) { s.counts[0] += tokens }

// leaves is the time at which tokens of an age no longer count.
func (s *Segments) leaves(age int) int64 { return s.Start + int64(s.n+1-age)*s.Width }

// Until is the time from which on at most some tokens count, if none are granted.
func (s *Segments) Until(tokens int64) int64 {
	used, age := s.Used(), s.n
	for ; age > 0 && used-s.counts[age] > tokens; age-- {
		used -= s.counts[age]
	}
	return s.leaves(age)
}

// TakeNewest takes off tokens, the newest first, and returns how many there were.
func (s *Segments) TakeNewest(tokens int64) (taken int64) {
	for age := range s.n + 1 {
		n := min(s.counts[age], tokens-taken)
		s.counts[age] -= n
		taken += n
	}
	return taken
}

// TakeAt takes tokens off the segment of a time, and returns how many there were.
func (s *Segments) TakeAt(at, tokens int64) (taken int64) {
	age := (s.Start - at + FloorMod(at, s.Width)) / s.Width
	if age < 0 || age > int64(s.n) {
		return 0
	}
	taken = min(tokens, s.counts[age])
	s.counts[age] -= taken
	return taken
}

// ValidSegments reports whether a state is one of segments.
func ValidSegments(state []byte) bool { return len(state) >= segmentsHead }
