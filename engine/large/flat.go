package large

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/blocks"
	"github.com/stintdb/stint/engine/datatype"
)

// Flatten returns the value as flat bytes. A hash has its fields in the order of their bytes.
func (v *Value) Flatten() []byte {
	n := v.Len()
	if v.Kind == engine.SortedSetKind {
		w := datatype.NewSortedSet(n, int(v.Bytes))
		v.EachScored(0, n, false, func(member []byte, score float64) bool { w.Add(member, score); return true })
		return w.Set()
	}
	values := hasValues(v.Kind)
	strings := n
	if values {
		strings *= 2
	}
	w := datatype.NewSequence(strings, int(v.Bytes))
	v.Each(0, n, func(x blocks.Element) bool {
		if w.Add(x.Key); values {
			w.Add(x.Value)
		}
		return true
	})
	return w.Bytes()
}

// BuildWork is the work of Build for its elements, in units of [engine.Result.Work]: those of a sorted set are sorted by
// their names, too.
func BuildWork(kind engine.Kind, flat []byte) int {
	switch kind {
	case engine.SortedSetKind:
		return 8 * datatype.SortedSet(flat).Len()
	case engine.HashKind:
		return 4 * datatype.Hash(flat).Len()
	}
	return 2 * datatype.List(flat).Len()
}

// Build makes the blocks of a value in a heap, from valid flat bytes.
func (v *Value) Build(kind engine.Kind, flat []byte, version uint64, heap *blocks.Heap) {
	v.Kind, v.Head, v.Log, v.heap = kind, Head{Version: version}, v.Log[:0], heap
	v.open(heap)
	before := heap.Live()
	main := v.main.Build()
	switch kind {
	case engine.ListKind:
		l := datatype.List(flat)
		for i := range l.Len() {
			v.add(main, blocks.Element{Key: l.At(i)})
		}
	case engine.SetKind:
		s := datatype.Set(flat)
		for i := range s.Len() {
			v.add(main, blocks.Element{Key: s.At(i)})
		}
	case engine.HashKind:
		h := datatype.Hash(flat)
		for _, i := range sorted(h.Len(), h.Field) {
			v.add(main, blocks.Element{Key: h.Field(i), Value: h.Value(i)})
		}
	case engine.StreamKind:
		h := datatype.Hash(flat)
		for i := range h.Len() {
			v.add(main, blocks.Element{Key: h.Field(i), Value: h.Value(i)})
		}
	case engine.SortedSetKind:
		v.buildSorted(main, flat)
	}
	main.End()
	v.Stored = uint32(heap.Live() - before)
}

func (v *Value) add(to *blocks.Builder, x blocks.Element) {
	v.Bytes += uint32(len(x.Key) + len(x.Value))
	v.noteSize(len(x.Key) + len(x.Value))
	to.Add(x)
}

func (v *Value) buildSorted(main *blocks.Builder, s datatype.SortedSet) {
	var key []byte
	for i := range s.Len() {
		key = append(appendScore(key[:0], s.Score(i)), s.Member(i)...)
		main.Add(blocks.Element{Key: key})
	}
	side := v.side.Build()
	for _, i := range sorted(s.Len(), s.Member) {
		key = appendScore(key[:0], s.Score(i))
		v.Bytes += uint32(len(s.Member(i)))
		v.noteSize(len(s.Member(i)))
		side.Add(blocks.Element{Key: s.Member(i), Value: key})
	}
	side.End()
}

// sorted returns the places of n strings in the order of their bytes.
func sorted(n int, at func(i int) []byte) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, j int) int { return bytes.Compare(at(i), at(j)) })
	return places
}
