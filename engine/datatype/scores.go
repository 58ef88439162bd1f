package datatype

import (
	"encoding/binary"
	"slices"
)

// Scores is the members of a sorted set while many of them change: each change takes the same time however many there
// are. It does not copy members.
type Scores struct {
	places  *index // of each member in members
	members []scored
	count   int // of members that are not removed
	bytes   int // of these
}

type scored struct {
	member  []byte
	score   float64
	removed bool
}

// NewScores makes room for at most so many members, those that are removed again included.
func NewScores(most int) *Scores {
	return &Scores{places: newIndex(most), members: make([]scored, 0, most)}
}

// AddAll adds the members of a set.
func (t *Scores) AddAll(s SortedSet) {
	for i := range s.Len() {
		t.Put(s.Member(i), s.Score(i))
	}
}

// Len is the number of members.
func (t *Scores) Len() int { return t.count }

// Bytes is the size of the sorted set that Pack makes.
func (t *Scores) Bytes() int {
	if t.count == 0 {
		return 0
	}
	return sortedSetHead + t.count*scoredSize + t.bytes
}

// Score returns the score of a member.
func (t *Scores) Score(member []byte) (score float64, found bool) {
	if i := t.places.find(member); i >= 0 && !t.members[i].removed {
		return t.members[i].score, true
	}
	return 0, false
}

// Put sets the score of a member, which is a number, and adds the member if it is new.
func (t *Scores) Put(member []byte, score float64) {
	i, added := t.places.add(member)
	if added {
		t.members = append(t.members, scored{member: member, removed: true})
	}
	m := &t.members[i]
	if m.score = score; m.removed {
		m.removed = false
		t.count++
		t.bytes += len(member)
	}
}

// Remove drops a member, and reports whether it was there.
func (t *Scores) Remove(member []byte) bool {
	i := t.places.find(member)
	if i < 0 || t.members[i].removed {
		return false
	}
	t.members[i].removed = true
	t.count--
	t.bytes -= len(member)
	return true
}

// Pack returns the sorted set of the members.
func (t *Scores) Pack() SortedSet {
	if t.count == 0 {
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
