package datatype

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

// SortedSet is members with a score each, ordered by score, and by member where scores are equal:
//
//	offset  size   field
//	0       4      n, the number of members
//	4       16 n   of each member its score, the hash of its bytes, and the end of its bytes
//	…       …      the bytes of all members
//
// An end counts from the first member's first byte. So a place is found by score in O(log n), and by member with a look
// at every hash. No bytes at all are an empty set. The functions that change a set return it, as append does.
type SortedSet []byte

const (
	sortedSetHead = 4
	scoredSize    = 16
)

// ScoredBytes are the bytes of a member in a sorted set, beside its own bytes.
const ScoredBytes = scoredSize

// Len is the number of members.
func (s SortedSet) Len() int {
	if len(s) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s))
}

// Score is the score of the member at place i.
func (s SortedSet) Score(i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(s[sortedSetHead+i*scoredSize:]))
}

// Member is the member at place i.
func (s SortedSet) Member(i int) []byte {
	members := s[sortedSetHead+s.Len()*scoredSize:]
	return members[s.end(i-1):s.end(i):s.end(i)]
}

func (s SortedSet) hash(i int) uint32 {
	return binary.LittleEndian.Uint32(s[sortedSetHead+i*scoredSize+8:])
}

// end is the end of a member's bytes; the end before the first member is 0.
func (s SortedSet) end(i int) int {
	if i < 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s[sortedSetHead+i*scoredSize+12:]))
}

// hashOf is FNV-1a.
func hashOf(member []byte) uint32 {
	hash := uint32(2166136261)
	for _, b := range member {
		hash = (hash ^ uint32(b)) * 16777619
	}
	return hash
}

// Find returns the place of a member.
func (s SortedSet) Find(member []byte) (i int, found bool) {
	hash := hashOf(member)
	for i := range s.Len() {
		if s.hash(i) == hash && bytes.Equal(s.Member(i), member) {
			return i, true
		}
	}
	return 0, false
}

// Below is the number of members whose score is less than a score, or with orEqual not greater.
func (s SortedSet) Below(score float64, orEqual bool) int {
	return sort.Search(s.Len(), func(i int) bool {
		return s.Score(i) > score || s.Score(i) == score && !orEqual
	})
}

// Insert adds a member that is not in the set. Its score is a number.
func (s SortedSet) Insert(member []byte, score float64) SortedSet {
	if len(s) == 0 {
		s = append(s, make([]byte, sortedSetHead)...)
	}
	n := s.Len()
	at := sort.Search(n, func(i int) bool { return compareScored(s.Score(i), s.Member(i), score, member) >= 0 })
	record, start := sortedSetHead+at*scoredSize, sortedSetHead+n*scoredSize+s.end(at-1)
	length := len(s)
	s = slices.Grow(s, scoredSize+len(member))[:length+scoredSize+len(member)]
	copy(s[start+scoredSize+len(member):], s[start:length]) // the members after it
	copy(s[record+scoredSize:], s[record:start])            // the records after it, and the members before it
	copy(s[start+scoredSize:], member)
	binary.LittleEndian.PutUint32(s, uint32(n+1))
	s.put(at, score, hashOf(member), s.end(at-1)+len(member))
	s.moveEnds(at+1, len(member))
	return s
}

func (s SortedSet) put(i int, score float64, hash uint32, end int) {
	record := s[sortedSetHead+i*scoredSize:]
	binary.LittleEndian.PutUint64(record, math.Float64bits(score))
	binary.LittleEndian.PutUint32(record[8:], hash)
	binary.LittleEndian.PutUint32(record[12:], uint32(end))
}

// moveEnds adds to the ends from place i on.
func (s SortedSet) moveEnds(i, by int) {
	for ; i < s.Len(); i++ {
		binary.LittleEndian.PutUint32(s[sortedSetHead+i*scoredSize+12:], uint32(s.end(i)+by))
	}
}

// Remove drops the members from place i up to j.
func (s SortedSet) Remove(i, j int) SortedSet {
	n := s.Len()
	if i >= j {
		return s
	}
	if j-i == n {
		return s[:0]
	}
	members := sortedSetHead + n*scoredSize
	from, to := s.end(i-1), s.end(j-1)
	s = slices.Delete(s, members+from, members+to)
	s = slices.Delete(s, sortedSetHead+i*scoredSize, sortedSetHead+j*scoredSize)
	binary.LittleEndian.PutUint32(s, uint32(n-(j-i)))
	s.moveEnds(i, from-to)
	return s
}

// compareScored orders members as a sorted set does.
func compareScored(score float64, member []byte, otherScore float64, other []byte) int {
	switch {
	case score < otherScore:
		return -1
	case score > otherScore:
		return 1
	}
	return bytes.Compare(member, other)
}

// ValidSortedSet reports whether data is a sorted set.
func ValidSortedSet(data []byte) bool {
	s := SortedSet(data)
	if len(data) == 0 {
		return true
	}
	if !s.validEnds() {
		return false
	}
	for i := range s.Len() {
		if math.IsNaN(s.Score(i)) || s.hash(i) != hashOf(s.Member(i)) {
			return false
		}
		if i > 0 && compareScored(s.Score(i-1), s.Member(i-1), s.Score(i), s.Member(i)) >= 0 {
			return false
		}
	}
	return s.unique()
}

// validEnds reports whether there are members, and every one ends within the bytes of all, and not before the one in
// front of it.
func (s SortedSet) validEnds() bool {
	if len(s) < sortedSetHead+scoredSize || s.Len() == 0 || s.Len() > (len(s)-sortedSetHead)/scoredSize {
		return false
	}
	for i := range s.Len() {
		if s.end(i) < s.end(i-1) {
			return false
		}
	}
	return s.end(s.Len()-1) == len(s)-sortedSetHead-s.Len()*scoredSize
}

// unique reports whether no two members are the same.
func (s SortedSet) unique() bool {
	places := make([]int, s.Len())
	for i := range places {
		places[i] = i
	}
	byMember := func(i, j int) int { return bytes.Compare(s.Member(i), s.Member(j)) }
	slices.SortFunc(places, byMember)
	for i := 1; i < len(places); i++ {
		if byMember(places[i-1], places[i]) == 0 {
			return false
		}
	}
	return true
}
