package datatype

import (
	"encoding/binary"
	"slices"
)

// Scores is the members of a sorted set while many of them change: each change takes the same time however many there
// are. The zero value is empty. It does not copy members.
type Scores struct {
	members []scored
	places  map[string]int // of each member in members
	bytes   int            // of all members
}

type scored struct {
	member  []byte
	score   float64
	removed bool
}

// AddAll adds the members of a set whose members it does not have yet.
func (t *Scores) AddAll(s SortedSet) {
	for i := range s.Len() {
		t.Put(s.Member(i), s.Score(i))
	}
}

// Len is the number of members.
func (t *Scores) Len() int { return len(t.places) }

// Bytes is the size of the sorted set that Pack makes.
func (t *Scores) Bytes() int {
	if len(t.places) == 0 {
		return 0
	}
	return sortedSetHead + len(t.places)*scoredSize + t.bytes
}

// Score returns the score of a member.
func (t *Scores) Score(member []byte) (score float64, found bool) {
	if i, ok := t.places[string(member)]; ok {
		return t.members[i].score, true
	}
	return 0, false
}

// Put sets the score of a member, which is a number, and adds the member if it is new.
func (t *Scores) Put(member []byte, score float64) {
	if i, ok := t.places[string(member)]; ok {
		t.members[i].score = score
		return
	}
	if t.places == nil {
		t.places = map[string]int{}
	}
	t.places[string(member)] = len(t.members)
	t.members = append(t.members, scored{member: member, score: score})
	t.bytes += len(member)
}

// Remove drops a member, and reports whether it was there.
func (t *Scores) Remove(member []byte) bool {
	i, ok := t.places[string(member)]
	if ok {
		t.members[i].removed = true
		delete(t.places, string(member))
		t.bytes -= len(member)
	}
	return ok
}

// Pack returns the sorted set of the members.
func (t *Scores) Pack() SortedSet {
	if t.Len() == 0 {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(t.members), func(m scored) bool { return m.removed })
	slices.SortFunc(left, func(a, b scored) int { return compareScored(a.score, a.member, b.score, b.member) })
	s := make(SortedSet, sortedSetHead+len(left)*scoredSize, t.Bytes())
	binary.LittleEndian.PutUint32(s, uint32(len(left)))
	end := 0
	for i, m := range left {
		end += len(m.member)
		s = append(s, m.member...)
		s.put(i, m.score, hashOf(m.member), end)
	}
	return s
}
