package blocks

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// countedMemory counts the bytes that it has handed out.
type countedMemory struct{ bytes int }

func (m *countedMemory) Block(n int) []byte { m.bytes += n; return make([]byte, n) }
func (m *countedMemory) Free(b []byte) {
	m.bytes -= len(b)
	for i := range b {
		b[i] = 0xee
	}
}

// Two trees in one heap change by transactions, of which some are given up. Nothing is lost and nothing stays.
func TestOverlay(t *testing.T) {
	r, memory := rand.New(rand.NewPCG(1, 2)), &countedMemory{}
	h := &Heap{Memory: memory}
	var o Overlay
	var trees [2]Tree
	var lists [2][]string
	for round := range 3_000 {
		now, then := trees, [2][]string{slices.Clone(lists[0]), slices.Clone(lists[1])}
		o.Begin(h)
		for range 1 + r.IntN(1+r.IntN(40)) {
			i := r.IntN(2)
			e := &Editor{Store: &o, Tree: &now[i]}
			at := r.IntN(len(then[i]) + 1)
			if grows := round/700%2 == 0; grows || r.IntN(4) == 0 {
				b := someBytes(r, round)
				e.Insert(at, b)
				then[i] = slices.Insert(then[i], at, string(b)+"\x00")
			} else if n := min(len(then[i])-at, 1+r.IntN(30)); n > 0 {
				e.DeleteRange(at, at+n, nil)
				then[i] = slices.Delete(then[i], at, at+n)
			}
		}
		if r.IntN(4) > 0 {
			o.Keep(&now[0], &now[1])
			trees, lists = now, then
		}
		if round%20 == 0 {
			h.Trim()
		}
		if round%50 == 0 {
			checkHeap(t, h, &trees, &lists, memory)
		}
	}
	checkHeap(t, h, &trees, &lists, memory)
	for i := range trees {
		(&Editor{Store: h, Tree: &trees[i]}).Clear()
	}
	if _, live := h.Bytes(); live != 0 {
		t.Errorf("%d bytes are live in an empty heap", live)
	}
	h.Clear()
	if memory.bytes != 0 {
		t.Errorf("%d bytes are not given back", memory.bytes)
	}
}

// Elements are removed at the end of a tree, one after the other, while those near them change, too.
func TestLastElements(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	h := &Heap{Memory: &countedMemory{}}
	var o Overlay
	var tree Tree
	var list []string
	for step := range 20_000 {
		now, then := tree, slices.Clone(list)
		o.Begin(h)
		e := &Editor{Store: &o, Tree: &now}
		b := bytes.Repeat([]byte{byte(step)}, r.IntN(5))
		at := len(then) - r.IntN(min(len(then), 40)+1)
		switch action := r.IntN(12); {
		case len(then) < 100 || action < 4:
			at = len(then)
			fallthrough
		case action == 4:
			e.Insert(at, b)
			then = slices.Insert(then, at, string(b))
		case action == 5 && at < len(then):
			e.SetAt(at, b)
			then[at] = string(b)
		default:
			var gone []string
			at = len(then) - 1 - r.IntN(3)
			e.DeleteRange(at, len(then), func(x Element) { gone = append(gone, string(x.Key)) })
			if !slices.Equal(gone, then[at:]) {
				t.Fatalf("step %d: %q are removed, want %q", step, gone, then[at:])
			}
			then = then[:at]
		}
		if r.IntN(4) > 0 {
			o.Keep(&now)
			tree, list = now, then
		}
	}
}

// The changed numbers of elements that are kept apart from the blocks stay few, because each look at a block passes over
// them.
func TestOverlayKeepsFewSums(t *testing.T) {
	const leaves = 5_000
	memory := &countedMemory{}
	h, trees, lists := &Heap{Memory: memory}, [2]Tree{}, [2][]string{}
	e := &Editor{Store: h, Tree: &trees[0]}
	for range leaves {
		e.Insert(int(e.Count), bytes.Repeat([]byte("x"), leafBytes*9/10))
	}
	var o Overlay
	o.Begin(h)
	now := trees[0]
	e = &Editor{Store: &o, Tree: &now}
	for at := 0; at < leaves; at += 200 { // each in another inner block
		e.Insert(at, []byte("small"))
		if len(o.sums) > mostSums {
			t.Fatalf("%d sums", len(o.sums))
		}
	}
	o.Keep(&now)
	trees[0] = now
	e.Store = h
	e.Each(0, int(now.Count), func(x Element) bool { lists[0] = append(lists[0], text(x)); return true })
	checkHeap(t, h, &trees, &lists, memory)
}

// checkHeap compares the trees with their elements, and the blocks of the heap with theirs.
func checkHeap(t *testing.T, h *Heap, trees *[2]Tree, lists *[2][]string, memory *countedMemory) {
	t.Helper()
	blocks := 0
	for i := range trees {
		e := &Editor{Store: h, Tree: &trees[i]}
		var got []string
		e.Each(0, int(e.Count), func(x Element) bool { got = append(got, text(x)); return true })
		if !slices.Equal(got, lists[i]) {
			t.Fatalf("tree %d has %d elements, want %d", i, len(got), len(lists[i]))
		}
		blocks += countBlocks(t, e, e.Root, e.Depth, int(e.Count))
	}
	free := map[uint32]bool{}
	for id := h.free; id != 0; id = h.ref(id) {
		free[id] = true
	}
	if n := int(h.numbers) - len(free); n != blocks {
		t.Fatalf("the heap has %d blocks, the trees %d; free are %v", n, blocks, slices.Sorted(maps.Keys(free)))
	}
	if held, live := h.Bytes(); held != memory.bytes || held > 2*live+4*segmentBytes {
		t.Fatalf("the heap has %d bytes for %d, %d are counted", held, live, memory.bytes)
	}
}
