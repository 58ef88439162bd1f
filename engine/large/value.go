package large

import (
	"encoding/binary"
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/blocks"
)

// Value is a value in blocks that is being read or changed. It may be reused for another one.
type Value struct {
	Head
	Kind engine.Kind
	// Log has the changes since Edit, for [Value.Redo], if Logs is set. Before is the version before them.
	Log    []byte
	Logs   bool
	Before uint64

	main, side blocks.Editor
	overlay    blocks.Overlay
	heap       *blocks.Heap
}

// Open begins to read a value with a head, whose blocks are in a heap. It must not be changed.
func (v *Value) Open(kind engine.Kind, head []byte, heap *blocks.Heap) {
	v.Kind, v.Head, v.heap = kind, ReadHead(head), heap
	v.open(heap)
}

// Edit begins to change a value. The changes are kept with [Value.Keep], or given up.
func (v *Value) Edit(kind engine.Kind, head Head, heap *blocks.Heap) {
	v.Kind, v.Head, v.Log, v.heap = kind, head, v.Log[:0], heap
	v.Before = v.Version
	v.overlay.Begin(heap)
	v.open(&v.overlay)
}

func (v *Value) open(s blocks.Store) {
	v.main.Open(s, &v.Main)
	v.main.Keyed, v.main.Valued = v.Kind != engine.ListKind, hasValues(v.Kind)
	v.side.Open(s, &v.Side)
	v.side.Keyed, v.side.Valued = true, true
}

// Keep makes the changes since Edit in the heap.
func (v *Value) Keep() {
	before := v.heap.Live()
	v.overlay.Keep(&v.Main, &v.Side)
	v.Stored += uint32(v.heap.Live() - before)
}

// Grows returns about the bytes by which memory grows when the changes are kept, at most.
func (v *Value) Grows() (bytes int) { return v.overlay.Grows() }

// Free frees all blocks of a value that was opened.
func (v *Value) Free() {
	v.main.Clear()
	v.side.Clear()
}

// Len is the number of elements, members or fields.
func (v *Value) Len() int { return int(v.Main.Count) }

// FlatBytes is the size of the value as flat bytes.
func (v *Value) FlatBytes() int { return v.Head.FlatBytes(v.Kind) }

// At returns an element of a list, a member of a set, or a field and its value, by its place.
func (v *Value) At(place int) blocks.Element { return v.main.At(place) }

// Find returns the member or field of a name.
func (v *Value) Find(name []byte) (x blocks.Element, found bool) { return v.main.Find(name) }

// Seek returns the number of members or fields before a name, and whether the name is there.
func (v *Value) Seek(name []byte) (elements int, found bool) { return v.main.Place(name) }

// Each visits the elements from a place on up to another, which is not included, until visit returns false.
func (v *Value) Each(from, to int, visit func(x blocks.Element) (more bool)) {
	v.main.Each(from, to, visit)
}

// EachBack is Each in the other order.
func (v *Value) EachBack(from, to int, visit func(x blocks.Element) (more bool)) {
	v.main.EachBack(from, to, visit)
}

// noteSize notes the bytes of an element that is added, or replaces another one.
func (v *Value) noteSize(bytes int) { v.Longest = max(v.Longest, uint32(bytes)) }

// Insert adds an element before the one at a place of a list, or at its end.
func (v *Value) Insert(place int, element []byte) {
	v.log(opInsert, uint64(place), element)
	v.noteSize(len(element))
	v.Bytes += uint32(len(element))
	v.main.Insert(place, element)
}

// SetAt replaces the element at a place of a list.
func (v *Value) SetAt(place int, element []byte) {
	v.log(opSet, uint64(place), element)
	v.noteSize(len(element))
	v.Bytes += uint32(len(element) - len(v.At(place).Key))
	v.main.SetAt(place, element)
}

// Put adds a member to a set, or gives a field of a hash a value.
func (v *Value) Put(name, value []byte) (added bool) {
	v.log(opPut, uint64(len(name)), name, value)
	before, added := v.main.Put(blocks.Element{Key: name, Value: value})
	v.noteSize(len(name) + len(value))
	if v.Bytes += uint32(len(value) - before); added {
		v.Bytes += uint32(len(name))
	}
	return added
}

// Delete removes a member or field, also of a sorted set, and reports whether it was there.
func (v *Value) Delete(name []byte) (found bool) {
	var x blocks.Element
	if v.Kind == engine.SortedSetKind {
		if x, found = v.side.Find(name); found {
			var room [64]byte
			key := append(append(room[:0], x.Value...), name...)
			v.main.Delete(key)
			v.side.Delete(name)
			v.Bytes -= uint32(len(name))
			v.log(opDelete, uint64(len(name)), name)
		}
		return found
	}
	if x, found = v.Find(name); found {
		v.Bytes -= uint32(len(x.Key) + len(x.Value))
		v.main.Delete(name)
		v.log(opDelete, uint64(len(name)), name)
	}
	return found
}

// DeleteRange removes the elements from a place on up to another, which is not included.
func (v *Value) DeleteRange(from, to int) { v.Take(from, to, func(blocks.Element) {}) }

// Take is [Value.DeleteRange] that visits each element before it is removed.
func (v *Value) Take(from, to int, visit func(x blocks.Element)) {
	var room [binary.MaxVarintLen64]byte
	v.log(opDeleteRange, uint64(from), binary.AppendUvarint(room[:0], uint64(to)))
	v.main.DeleteRange(from, to, func(x blocks.Element) {
		visit(x)
		if v.Kind == engine.SortedSetKind {
			x.Key = x.Key[scoreBytes:]
			v.side.Delete(x.Key)
		}
		v.Bytes -= uint32(len(x.Key) + len(x.Value))
	})
}

// A key in the order of scores is the score as scoreBytes, whose order as bytes is that of the scores, and the member.
const scoreBytes = 8

// appendScore appends the bytes of a score. Those of -0 are those of 0.
func appendScore(b []byte, score float64) []byte {
	n := math.Float64bits(score + 0)
	if n>>63 == 0 {
		n |= 1 << 63
	} else {
		n = ^n
	}
	return binary.BigEndian.AppendUint64(b, n)
}

func scoreOf(b []byte) float64 {
	n := binary.BigEndian.Uint64(b)
	if n>>63 == 1 {
		n &^= 1 << 63
	} else {
		n = ^n
	}
	return math.Float64frombits(n)
}

// Score returns the score of a member of a sorted set.
func (v *Value) Score(member []byte) (score float64, found bool) {
	x, found := v.side.Find(member)
	if !found {
		return 0, false
	}
	return scoreOf(x.Value), true
}

// SetScore gives a member of a sorted set a score, which is a number, and reports whether it was added.
func (v *Value) SetScore(member []byte, score float64) (added bool) {
	var room, oldRoom [64]byte
	key := append(appendScore(room[:0], score), member...)
	v.log(opPut, uint64(len(member)), member, key[:scoreBytes])
	if old, found := v.side.Find(member); found {
		oldKey := append(append(oldRoom[:0], old.Value...), member...)
		v.main.Delete(oldKey)
	} else {
		v.Bytes += uint32(len(member))
		v.noteSize(len(member))
		added = true
	}
	v.main.Put(blocks.Element{Key: key})
	v.side.Put(blocks.Element{Key: member, Value: key[:scoreBytes]})
	return added
}

// Scored returns the member at a place of a sorted set, and its score.
func (v *Value) Scored(place int) (member []byte, score float64) { return scored(v.main.At(place)) }

func scored(x blocks.Element) (member []byte, score float64) {
	return x.Key[scoreBytes:], scoreOf(x.Key)
}

// EachScored visits the members of a sorted set from a place on up to another, which is not included; with back from
// the last to the first.
func (v *Value) EachScored(from, to int, back bool, visit func(member []byte, score float64) (more bool)) {
	each := v.main.Each
	if back {
		each = v.main.EachBack
	}
	each(from, to, func(x blocks.Element) bool { return visit(scored(x)) })
}

// Place returns the place of a member of a sorted set, and its score.
func (v *Value) Place(member []byte) (place int, score float64, found bool) {
	x, found := v.side.Find(member)
	if !found {
		return 0, 0, false
	}
	var room [64]byte
	score = scoreOf(x.Value)
	place, found = v.main.Place(append(append(room[:0], x.Value...), member...))
	return place, score, found
}

// PlaceOf is the number of members before the place of a score and a name, and whether there is such a member.
func (v *Value) PlaceOf(score float64, name []byte) (members int, found bool) {
	var room [64]byte
	return v.main.Place(append(appendScore(room[:0], score), name...))
}

// Below is the number of members whose score is less than a score, or with orEqual not greater.
func (v *Value) Below(score float64, orEqual bool) (members int) {
	var room [2 * scoreBytes]byte
	key := appendScore(room[:0], score)
	if orEqual {
		n := binary.BigEndian.Uint64(key)
		if n == math.MaxUint64 {
			return v.Len()
		}
		binary.BigEndian.PutUint64(key, n+1)
	}
	members, _ = v.main.Place(key)
	return members
}
