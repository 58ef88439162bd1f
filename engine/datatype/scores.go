package datatype

import (
	"encoding/binary"
	"slices"
)

// Scores is a sorted set while many of its members change: each change takes the same time however many members there
// are. It does not copy members.
type Scores struct {
	base    SortedSet // whose members, beside those in changed, stay as they are
	places  *index    // of each member in changed
	changed []scored
	count   int // of the members of both
	bytes   int // of these
}

type scored struct {
	member  []byte
	score   float64
	place   int // in base, -1 if it is not there
	removed bool
}

// NewScores returns no members, with room for a number of them.
func NewScores(most int) *Scores {
	return &Scores{places: newIndex(most), changed: make([]scored, 0, most)}
}

// ScoresOf returns the members of a set, of which some may change, or be added: each step-th of the words.
func ScoresOf(base SortedSet, words [][]byte, step int) *Scores {
	n, t := base.Len(), NewScores((len(words)+step-1)/step)
	t.base, t.count, t.bytes = base, n, base.end(n-1)
	for i := 0; i < len(words); i += step {
		t.place(words[i])
	}
	for i := range n {
		if at := t.places.find(base.Member(i)); at >= 0 {
			m := &t.changed[at]
			m.score, m.place, m.removed = base.Score(i), i, false
		}
	}
	return t
}

// place is the place of a member among the members that may change.
func (t *Scores) place(member []byte) int {
	i, added := t.places.add(member)
	if added {
		t.changed = append(t.changed, scored{member: member, place: -1, removed: true})
	}
	return i
}

// Bytes is the size of the sorted set that Pack makes.
func (t *Scores) Bytes() int {
	if t.count == 0 {
		return 0
	}
	return SortedSetBytes(t.count, t.bytes)
}

// Score returns the score of a member that may change.
func (t *Scores) Score(member []byte) (score float64, found bool) {
	if i := t.places.find(member); i >= 0 && !t.changed[i].removed {
		return t.changed[i].score, true
	}
	return 0, false
}

// Put sets the score of a member that may change or be added. The score is a number.
func (t *Scores) Put(member []byte, score float64) {
	m := &t.changed[t.place(member)]
	if m.score = score; m.removed {
		m.removed = false
		t.count++
		t.bytes += len(member)
	}
}

// Remove drops a member that may change, and reports whether it was there.
func (t *Scores) Remove(member []byte) bool {
	i := t.places.find(member)
	if i < 0 || t.changed[i].removed {
		return false
	}
	t.changed[i].removed = true
	t.count--
	t.bytes -= len(member)
	return true
}

// Pack returns the sorted set of the members.
func (t *Scores) Pack() SortedSet {
	if t.count == 0 {
		return nil
	}
	var gone []int // places of base
	left := make([]scored, 0, len(t.changed))
	for _, m := range t.changed {
		if m.place >= 0 {
			gone = append(gone, m.place)
		}
		if !m.removed {
			left = append(left, m)
		}
	}
	slices.Sort(gone)
	slices.SortFunc(left, func(a, b scored) int { return compareScored(a.score, a.member, b.score, b.member) })
	p := newPacker(t.count, t.bytes)
	for i := range t.base.Len() {
		if len(gone) > 0 && gone[0] == i {
			gone = gone[1:]
			continue
		}
		member, score := t.base.Member(i), t.base.Score(i)
		for len(left) > 0 && compareScored(left[0].score, left[0].member, score, member) < 0 {
			p.add(left[0].member, left[0].score, hashOf(left[0].member))
			left = left[1:]
		}
		p.add(member, score, t.base.hash(i))
	}
	for _, m := range left {
		p.add(m.member, m.score, hashOf(m.member))
	}
	return p.set
}

// packer writes a sorted set, with room for all its members, in their order.
type packer struct {
	set    SortedSet
	n, end int
}

// newPacker begins a sorted set of n members with these bytes together.
func newPacker(n, bytes int) packer {
	if n == 0 {
		return packer{}
	}
	p := packer{set: make(SortedSet, sortedSetHead+n*scoredSize, SortedSetBytes(n, bytes))}
	binary.LittleEndian.PutUint32(p.set, uint32(n))
	return p
}

func (p *packer) add(member []byte, score float64, hash uint32) {
	p.end += len(member)
	p.set = append(p.set, member...)
	p.set.put(p.n, score, hash, p.end)
	p.n++
}
