package blocks

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// mapStore is a Store that overwrites what it has returned when a block changes.
type mapStore struct {
	blocks map[uint32][]byte
	last   uint32
	shown  [][]byte
}

func newMapStore() *mapStore { return &mapStore{blocks: map[uint32][]byte{}} }

func (s *mapStore) changed() {
	for _, b := range s.shown {
		for i := range b {
			b[i] = 0xee
		}
	}
	s.shown = s.shown[:0]
}

func (s *mapStore) Block(id uint32) []byte {
	b, found := s.blocks[id]
	if !found {
		panic(fmt.Sprintf("block %d is not there", id))
	}
	b = bytes.Clone(b)
	s.shown = append(s.shown, b)
	return b
}

func (s *mapStore) AddCount(id uint32, child, n int) {
	s.changed()
	inner(s.blocks[id]).addCount(child, n)
}

func (s *mapStore) Add(contents []byte, _ bool) uint32 {
	contents = bytes.Clone(contents)
	s.changed()
	s.last++
	s.blocks[s.last] = contents
	return s.last
}

func (s *mapStore) Set(id uint32, contents []byte, _ bool) {
	s.blocks[id] = bytes.Clone(contents)
	s.changed()
}

func (s *mapStore) Marks(uint32) *Marks { return nil }

func (s *mapStore) Free(id uint32) {
	s.changed()
	if _, found := s.blocks[id]; !found {
		panic("freed twice")
	}
	delete(s.blocks, id)
}

// check compares a tree with its elements, and counts the blocks.
func check(t *testing.T, e *Editor, s *mapStore, want []string) {
	t.Helper()
	var got []string
	e.Each(0, int(e.Count), func(x Element) bool { got = append(got, text(x)); return true })
	if !slices.Equal(got, want) {
		t.Fatalf("the tree has %d elements, want %d:\n%.300q\n%.300q", len(got), len(want), got, want)
	}
	var back []string
	e.EachBack(0, int(e.Count), func(x Element) bool { back = append(back, text(x)); return true })
	slices.Reverse(back)
	if !slices.Equal(back, want) {
		t.Fatal("the tree has other elements from the end")
	}
	if n := countBlocks(t, e, e.Root, e.Depth, int(e.Count)); n != len(s.blocks) {
		t.Fatalf("the tree has %d blocks, the store %d", n, len(s.blocks))
	}
}

func text(x Element) string { return string(x.Key) + "\x00" + string(x.Value) }

// countBlocks counts the blocks below one that has a number of elements.
func countBlocks(t *testing.T, e *Editor, id, depth uint32, count int) (blocks int) {
	t.Helper()
	if id == 0 {
		return 0
	}
	b := e.Block(id)
	if depth == 0 {
		n := 0
		for rest := b; len(rest) > 0; n++ {
			_, rest = e.next(rest)
		}
		if n != count || n == 0 || n > 1 && len(b) > leafBytes {
			t.Fatalf("a leaf has %d elements in %d bytes, its parent says %d", n, len(b), count)
		}
		return 1
	}
	sum := 0
	for i := range inner(b).len() {
		blocks += countBlocks(t, e, inner(b).id(i), depth-1, int(inner(b).count(i)))
		sum += int(inner(b).count(i))
	}
	if sum != count {
		t.Fatalf("an inner block has %d elements, its parent says %d", sum, count)
	}
	return blocks + 1
}

// sizes are of strings: most are short, some are longer than a leaf.
func someBytes(r *rand.Rand, n int) []byte {
	b := fmt.Appendf(nil, "%d", n)
	switch r.IntN(60) {
	case 0:
		return append(b, bytes.Repeat([]byte("x"), r.IntN(3*leafBytes))...)
	case 1, 2, 3:
		return append(b, bytes.Repeat([]byte("y"), r.IntN(200))...)
	case 4:
		return append(bytes.Repeat([]byte("common"), 30), b...)
	}
	return b
}

func TestPlaces(t *testing.T) {
	for seed := range uint64(6) {
		r, s := rand.New(rand.NewPCG(seed, 1)), newMapStore()
		e := &Editor{Store: s, Tree: new(Tree)}
		var want []string
		for step := range 6_000 {
			grows := step/1500%2 == 0
			at := r.IntN(len(want) + 1)
			switch r.IntN(4) { // also at the ends
			case 0:
				at = 0
			case 1:
				at = len(want)
			}
			b := someBytes(r, step)
			switch action := r.IntN(10); {
			case grows && action < 8 || action < 2:
				e.Insert(at, b)
				want = slices.Insert(want, at, string(b)+"\x00")
			case action == 8 && at < len(want):
				e.SetAt(at, b)
				want[at] = string(b) + "\x00"
			case at < len(want):
				n := min(len(want)-at, 1+r.IntN(1+r.IntN(1+r.IntN(200))))
				var gone []string
				e.DeleteRange(at, at+n, func(x Element) { gone = append(gone, text(x)) })
				if !slices.Equal(gone, want[at:at+n]) {
					t.Fatalf("%q are removed, want %q", gone, want[at:at+n])
				}
				want = slices.Delete(want, at, at+n)
			}
			if len(want) > 0 {
				if at := r.IntN(len(want)); text(e.At(at)) != want[at] {
					t.Fatalf("element %d is %q", at, e.At(at).Key)
				}
			}
			if step%97 == 0 {
				check(t, e, s, want)
			}
		}
		check(t, e, s, want)
		e.Clear()
		check(t, e, s, nil)
	}
}

func TestKeys(t *testing.T) {
	for seed := range uint64(6) {
		r, s := rand.New(rand.NewPCG(seed, 2)), newMapStore()
		e := &Editor{Store: s, Tree: new(Tree), Keyed: true, Valued: seed%2 == 0}
		want, most := map[string]string{}, 1+r.IntN(3000)
		for step := range 8_000 {
			key, value := someBytes(r, r.IntN(most)), ""
			if e.Valued {
				value = string(someBytes(r, r.IntN(5)))
			}
			had, found := want[string(key)]
			if x, is := e.Find(key); is != found || is && string(x.Value) != had {
				t.Fatalf("%q is there: %t, as %q; want %t, %q", key, is, x.Value, found, had)
			}
			if step/2000%2 == 0 || r.IntN(4) == 0 {
				if _, added := e.Put(Element{key, []byte(value)}); added == found {
					t.Fatalf("%q is added, and was there: %t", key, found)
				}
				want[string(key)] = value
			} else {
				if e.Delete(key) != found {
					t.Fatalf("%q was there: %t", key, found)
				}
				delete(want, string(key))
			}
			if step%199 == 0 {
				check(t, e, s, listOf(want))
			}
		}
		all := listOf(want)
		check(t, e, s, all)
		for i, x := range all {
			key, _, _ := strings.Cut(x, "\x00")
			if at, found := e.Place([]byte(key)); at != i || !found {
				t.Fatalf("%q is at %d, %t; want %d", key, at, found, i)
			}
			if at, found := e.Place([]byte(key + "\x00")); at != i+1 || found {
				t.Fatalf("what follows %q is at %d, %t; want %d", key, at, found, i+1)
			}
		}
		b := (&Editor{Store: newMapStore(), Tree: new(Tree), Keyed: true, Valued: e.Valued})
		builder := b.Build()
		e.Each(0, int(e.Count), func(x Element) bool { builder.Add(x); return true })
		builder.End()
		check(t, b, b.Store.(*mapStore), all)
		for _, x := range all {
			key, _, _ := strings.Cut(x, "\x00")
			if !b.Delete([]byte(key)) {
				t.Fatalf("%q is not found in a built tree", key)
			}
		}
		check(t, b, b.Store.(*mapStore), nil)
	}
}

func listOf(m map[string]string) (all []string) {
	for key, value := range m {
		all = append(all, key+"\x00"+value)
	}
	slices.SortFunc(all, func(a, b string) int {
		x, _, _ := strings.Cut(a, "\x00")
		y, _, _ := strings.Cut(b, "\x00")
		return strings.Compare(x, y)
	})
	return all
}
