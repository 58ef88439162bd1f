package datatype

import (
	"bytes"
	"slices"
	"sort"
)

// Set is different strings in the order of their bytes: a sequence.
type Set []byte

// ValidSet reports whether data is a set.
func ValidSet(data []byte) bool {
	if !sequence(data).valid() {
		return false
	}
	s := Set(data)
	for i := 1; i < s.Len(); i++ {
		if bytes.Compare(s.At(i-1), s.At(i)) >= 0 {
			return false
		}
	}
	return true
}

// SetOf is the set of strings.
func SetOf(members [][]byte) Set {
	members = slices.Clone(members)
	slices.SortFunc(members, bytes.Compare)
	members = slices.CompactFunc(members, bytes.Equal)
	return Set(sequence(nil).splice(0, 0, members))
}

// Len is the number of members.
func (s Set) Len() int { return sequence(s).count() }

// At is member i in the order of bytes. It is valid until the set changes.
func (s Set) At(i int) []byte { return sequence(s).at(i) }

// Has reports whether a string is a member.
func (s Set) Has(member []byte) bool {
	_, found := s.find(member)
	return found
}

// find is the position of a member, or the one that it would have.
func (s Set) find(member []byte) (i int, found bool) {
	return sort.Find(s.Len(), func(i int) int { return bytes.Compare(member, s.At(i)) })
}

// FewMembers is the number of members that are added or removed one by one. With more, all members are copied once.
const FewMembers = 4

// Add adds members and counts the new ones. It changes s.
func (s Set) Add(members [][]byte) (_ Set, added int) {
	before := s.Len()
	if len(members) > FewMembers {
		s = s.Union(SetOf(members))
		return s, s.Len() - before
	}
	for i := range members {
		if at, found := s.find(members[i]); !found {
			s = Set(sequence(s).splice(at, at, members[i:i+1]))
		}
	}
	return s, s.Len() - before
}

// Remove removes members and counts how many there were. It changes s.
func (s Set) Remove(members [][]byte) (_ Set, removed int) {
	before := s.Len()
	if len(members) > FewMembers {
		s = s.Diff(SetOf(members))
		return s, before - s.Len()
	}
	for _, member := range members {
		if at, found := s.find(member); found {
			s = Set(sequence(s).splice(at, at+1, nil))
		}
	}
	return s, before - s.Len()
}

// Union is the set of the members of s or other. It does not change s.
func (s Set) Union(other Set) Set {
	all := make([][]byte, 0, s.Len()+other.Len())
	j := 0
	for i := range s.Len() {
		member := s.At(i)
		for ; j < other.Len() && bytes.Compare(other.At(j), member) < 0; j++ {
			all = append(all, other.At(j))
		}
		if j < other.Len() && bytes.Equal(other.At(j), member) {
			j++
		}
		all = append(all, member)
	}
	for ; j < other.Len(); j++ {
		all = append(all, other.At(j))
	}
	return Set(sequence(nil).splice(0, 0, all))
}

// Diff is the set of the members of s that are not in other. It does not change s.
func (s Set) Diff(other Set) Set {
	kept := make([][]byte, 0, s.Len())
	j := 0
	for i := range s.Len() {
		member := s.At(i)
		for j < other.Len() && bytes.Compare(other.At(j), member) < 0 {
			j++
		}
		if j == other.Len() || !bytes.Equal(other.At(j), member) {
			kept = append(kept, member)
		}
	}
	return Set(sequence(nil).splice(0, 0, kept))
}

// Inter is the set of the members that are in both s and other. It does not change s.
func (s Set) Inter(other Set) Set {
	var both [][]byte
	j := 0
	for i := range s.Len() {
		member := s.At(i)
		for j < other.Len() && bytes.Compare(other.At(j), member) < 0 {
			j++
		}
		if j < other.Len() && bytes.Equal(other.At(j), member) {
			both = append(both, member)
		}
	}
	return Set(sequence(nil).splice(0, 0, both))
}
