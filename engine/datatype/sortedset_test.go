package datatype

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naiveSet is a sorted set that is simple: a list, sorted again after each change.
type naiveSet []scored

func (n *naiveSet) put(member []byte, score float64) {
	n.remove(member)
	*n = append(*n, scored{member: member, score: score})
	slices.SortFunc(*n, func(a, b scored) int {
		if a.score != b.score {
			if a.score < b.score {
				return -1
			}
			return 1
		}
		return bytes.Compare(a.member, b.member)
	})
}

func (n *naiveSet) remove(member []byte) {
	*n = slices.DeleteFunc(*n, func(m scored) bool { return bytes.Equal(m.member, member) })
}

func (n naiveSet) below(score float64, orEqual bool) (count int) {
	for _, m := range n {
		if m.score < score || orEqual && m.score == score {
			count++
		}
	}
	return count
}

func compareSets(t *testing.T, s SortedSet, want naiveSet) {
	t.Helper()
	if !ValidSortedSet(s) {
		t.Fatalf("not valid: %x", s)
	}
	if s.Len() != len(want) {
		t.Fatalf("%d members, want %d", s.Len(), len(want))
	}
	for i, m := range want {
		if s.Score(i) != m.score || !bytes.Equal(s.Member(i), m.member) {
			t.Fatalf("place %d: %q %v, want %q %v", i, s.Member(i), s.Score(i), m.member, m.score)
		}
	}
}

func randomScore(r *rand.Rand) float64 {
	return []float64{0, math.Copysign(0, -1), 1, -1, 2.5, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, float64(r.IntN(20))}[r.IntN(10)]
}

func randomMember(r *rand.Rand) []byte {
	return []byte([]string{"", "a", "ab", "\x00", "b", fmt.Sprint(r.IntN(40)), fmt.Sprintf("%030d", r.IntN(40))}[r.IntN(7)])
}

// Random operations have the same effect on a sorted set, on Scores and on a naiveSet.
func TestSortedSetIsThatOfANaiveList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var s SortedSet
		var want naiveSet
		for range 150 {
			member, score := randomMember(r), randomScore(r)
			i, found := s.Find(member)
			if at := slices.IndexFunc(want, func(m scored) bool { return bytes.Equal(m.member, member) }); found != (at >= 0) || found && i != at {
				t.Fatalf("%q is at %d, %t; want %d", member, i, found, at)
			}
			switch r.IntN(6) {
			case 0:
				if found {
					s = s.Remove(i, i+1)
				}
				want.remove(member)
			case 1:
				i := r.IntN(s.Len() + 1)
				j := i + r.IntN(min(s.Len()-i, 3)+1)
				s, want = s.Remove(i, j), slices.Delete(want, i, j)
			case 2: // through Scores, which adds members and removes some of them again
				named := [][]byte{member, member, []byte("gone"), randomMember(r)} // the last does not change
				table := ScoresOf(s, named[r.IntN(2):], 1)
				table.Put([]byte("gone"), score)
				table.Put(member, score)
				if found && table.Remove(member) {
					table.Put(member, score)
				}
				if !table.Remove([]byte("gone")) || table.Remove([]byte("gone")) {
					t.Fatal("a member of a table is removed once")
				}
				want.put(member, score)
				if s = table.Pack(); len(s) != table.Bytes() {
					t.Fatalf("%d bytes, the table says %d", len(s), table.Bytes())
				}
			default:
				if found {
					s = s.Remove(i, i+1)
				}
				s = s.Insert(member, score)
				want.put(member, score)
			}
			compareSets(t, s, want)
			for _, orEqual := range []bool{false, true} {
				if got := s.Below(score, orEqual); got != want.below(score, orEqual) {
					t.Fatalf("%d are below %v, %t; want %d", got, score, orEqual, want.below(score, orEqual))
				}
			}
		}
	}
}

// A set keeps its order when 20,000 members are added in the order of their scores, and all but the last 100 removed.
func TestSortedSetOfManyMembers(t *testing.T) {
	const n = 20_000
	var s SortedSet
	for i := range n {
		s = s.Insert(fmt.Appendf(nil, "%d-request", i*7919%n), float64(i))
	}
	if !ValidSortedSet(s) || s.Len() != n {
		t.Fatalf("%d members, valid: %t", s.Len(), ValidSortedSet(s))
	}
	if i, found := s.Find([]byte("7919-request")); !found || i != 1 {
		t.Errorf("found at %d, %t", i, found)
	}
	if s = s.Remove(0, s.Below(n-100, false)); s.Len() != 100 || s.Score(0) != n-100 || !ValidSortedSet(s) {
		t.Errorf("%d members from %v on, valid: %t", s.Len(), s.Score(0), ValidSortedSet(s))
	}
}

func sampleSet() SortedSet {
	return SortedSet(nil).Insert([]byte("one"), 1).Insert([]byte("two"), 2).Insert([]byte("deux"), 2)
}

// ValidSortedSet refuses malformed bytes.
func TestMalformedSortedSetsAreRefused(t *testing.T) {
	change := func(f func(s SortedSet)) SortedSet {
		s := sampleSet()
		f(s)
		return s
	}
	swapped := func(s SortedSet, i, j int) {
		a, b := sortedSetHead+i*scoredSize, sortedSetHead+j*scoredSize
		for k := range 8 {
			s[a+k], s[b+k] = s[b+k], s[a+k]
		}
	}
	malformed := map[string]SortedSet{
		"no members":              make(SortedSet, sortedSetHead),
		"cut":                     sampleSet()[:len(sampleSet())-1],
		"too long":                append(sampleSet(), 0),
		"one byte":                {1},
		"too many members":        change(func(s SortedSet) { s[0] = 200 }),
		"four billion members":    change(func(s SortedSet) { s[3] = 255 }),
		"NaN":                     change(func(s SortedSet) { s.put(2, math.NaN(), s.hash(2), s.end(2)) }),
		"scores out of order":     change(func(s SortedSet) { swapped(s, 0, 2) }),
		"members out of order":    change(func(s SortedSet) { s.put(0, 3, s.hash(0), s.end(0)) }),
		"a wrong hash":            change(func(s SortedSet) { s.put(0, 1, s.hash(0)+1, s.end(0)) }),
		"an end before its start": change(func(s SortedSet) { s.put(1, 2, s.hash(1), 1) }),
		"an end far behind":       change(func(s SortedSet) { s.put(1, 2, s.hash(1), math.MaxUint32) }),
		"a member twice":          SortedSet(nil).Insert([]byte("one"), 1).Insert([]byte("one"), 2),
		"a member twice, equal":   SortedSet(nil).Insert([]byte("one"), 1).Insert([]byte("one"), 1),
	}
	for what, s := range malformed {
		if ValidSortedSet(s) {
			t.Errorf("%s is taken for a sorted set", what)
		}
	}
	if !ValidSortedSet(sampleSet()) || !ValidSortedSet(nil) {
		t.Error("a sorted set is refused")
	}
}

// FuzzSortedSet changes every sorted set that ValidSortedSet accepts, in every way. It corrects the hashes first:
// random bytes hardly ever have the right ones.
func FuzzSortedSet(f *testing.F) {
	f.Add([]byte(nil), []byte("two"), 2.0)
	f.Add([]byte(sampleSet()), []byte("two"), 2.0)
	f.Add([]byte(sampleSet().Insert(nil, math.Inf(-1))), []byte{}, math.Inf(1))
	f.Fuzz(func(t *testing.T, data, member []byte, score float64) {
		valid := ValidSortedSet(data)
		if s := SortedSet(data); s.validEnds() {
			for i := range s.Len() {
				s.put(i, s.Score(i), hashOf(s.Member(i)), s.end(i))
			}
		}
		if !ValidSortedSet(data) || math.IsNaN(score) {
			if valid {
				t.Fatalf("%x was a sorted set", data)
			}
			return
		}
		for _, remove := range []int{0, 1, 2} {
			s := SortedSet(bytes.Clone(data))
			table := ScoresOf(data, [][]byte{member}, 1)
			if packed := table.Pack(); !bytes.Equal(packed, data) {
				t.Fatalf("packed again, %x is %x", data, packed)
			}
			if i, found := s.Find(member); found {
				s = s.Remove(i, i+1)
			}
			s = s.Insert(member, score)
			table.Put(member, score)
			if !bytes.Equal(s, table.Pack()) {
				t.Fatalf("%x, or %x", s, table.Pack())
			}
			from := s.Below(score, false)
			s = s.Remove(from, min(from+remove, s.Below(score, true)))
			if !ValidSortedSet(s) {
				t.Fatalf("%x", s)
			}
		}
	})
}
