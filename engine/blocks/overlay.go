package blocks

import (
	"encoding/binary"
	"slices"
)

// Overlay is a [Store] of changes to the blocks of a heap. They are kept together, or given up.
type Overlay struct {
	base  *Heap
	sums  []sum  // of blocks without an edit
	edits []edit // the rest of its capacity is reused
	byID  map[uint32]int
	freed []uint32 // blocks of the base
	added bool
	kept  []uint32 // scratch: the numbers in the base of the added blocks
}

// edit is a block that is changed or added.
type edit struct {
	id       uint32 // of an added block, its place among the edits under addedBit
	contents []byte
	isInner  bool
	gone     bool
}

// sum is a change of the number of elements in a child of an inner block, which is not copied for that alone.
type sum struct {
	id       uint32
	child, n int
}

const (
	addedBit  = 1 << 31
	fewEdits  = 8       // are looked up one after the other
	mostSums  = 8       // because each look at a block without an edit passes over them
	keptEdits = 32      // have their memory reused
	keptBytes = 4 << 10 // of each of them
)

// Begin gives up the changes so far, and begins with the blocks of a heap.
func (o *Overlay) Begin(base *Heap) {
	for i := range o.edits {
		if cap(o.edits[i].contents) > keptBytes {
			o.edits[i].contents = nil
		}
	}
	if cap(o.edits) > keptEdits {
		o.edits = nil
	}
	o.base, o.sums, o.edits, o.byID, o.freed, o.added = base, o.sums[:0], o.edits[:0], nil, o.freed[:0], false
}

func (o *Overlay) find(id uint32) *edit {
	if id&addedBit != 0 {
		return &o.edits[id&^addedBit]
	}
	if o.byID != nil {
		if i, found := o.byID[id]; found {
			return &o.edits[i]
		}
		return nil
	}
	for i := range o.edits {
		if o.edits[i].id == id {
			return &o.edits[i]
		}
	}
	return nil
}

// Block implements [Store].
func (o *Overlay) Block(id uint32) []byte {
	if x := o.find(id); x != nil {
		return x.contents
	}
	for i := range o.sums {
		if o.sums[i].id == id {
			return o.withSums(id)
		}
	}
	return o.base.Block(id)
}

// withSums copies a block of the base, with the changes of its numbers.
func (o *Overlay) withSums(id uint32) []byte {
	x := o.begin(id, false) // as long as it is not set, it refers to no added block
	x.contents = append(x.contents[:0], o.base.Block(id)...)
	o.sums = slices.DeleteFunc(o.sums, func(s sum) bool {
		if s.id == id {
			inner(x.contents).addCount(s.child, s.n)
		}
		return s.id == id
	})
	return x.contents
}

// AddCount implements [Store].
func (o *Overlay) AddCount(id uint32, child, n int) {
	switch x := o.find(id); {
	case x != nil:
		inner(x.contents).addCount(child, n)
	case len(o.sums) < mostSums:
		o.sums = append(o.sums, sum{id, child, n})
	default:
		inner(o.withSums(id)).addCount(child, n)
	}
}

// begin makes an edit whose contents are yet to be set.
func (o *Overlay) begin(id uint32, isInner bool) *edit {
	n := len(o.edits)
	if n < cap(o.edits) {
		o.edits = o.edits[:n+1]
	} else {
		o.edits = append(o.edits, edit{})
	}
	x := &o.edits[n]
	if x.id, x.isInner, x.gone = id, isInner, false; id == 0 {
		x.id = addedBit | uint32(n)
	}
	switch {
	case o.byID != nil:
		o.byID[x.id] = n
	case n == fewEdits:
		o.byID = make(map[uint32]int, 4*fewEdits)
		for i := range o.edits {
			o.byID[o.edits[i].id] = i
		}
	}
	return x
}

// Add implements [Store].
func (o *Overlay) Add(contents []byte, isInner bool) (id uint32) {
	x := o.begin(0, isInner)
	x.contents = append(x.contents[:0], contents...)
	o.added = true
	return x.id
}

// Set implements [Store].
func (o *Overlay) Set(id uint32, contents []byte, isInner bool) {
	x := o.find(id)
	if x == nil {
		x = o.begin(id, isInner)
	}
	x.isInner = isInner
	x.contents = append(x.contents[:0], contents...)
}

// Free implements [Store].
func (o *Overlay) Free(id uint32) {
	if id&addedBit == 0 {
		o.freed = append(o.freed, id)
	}
	if x := o.find(id); x != nil {
		x.gone = true
	}
}

// Grows returns about the bytes by which the heap grows when the changes are kept, at most.
func (o *Overlay) Grows() (bytes int) {
	for i := range o.edits {
		if x := &o.edits[i]; !x.gone {
			bytes += blockHead + alignment + len(x.contents) + len(x.contents)/8
		}
	}
	return bytes
}

// Keep makes the changes in the heap. The roots of the trees get the numbers that they have there.
func (o *Overlay) Keep(trees ...*Tree) {
	for _, s := range o.sums {
		o.base.AddCount(s.id, s.child, s.n)
	}
	for _, id := range o.freed {
		o.base.Free(id)
	}
	if o.added {
		o.renumber(trees)
	}
	for i := range o.edits {
		if x := &o.edits[i]; !x.gone {
			o.base.Set(x.id, x.contents, x.isInner)
		}
	}
}

// renumber gives the added blocks numbers of the heap.
func (o *Overlay) renumber(trees []*Tree) {
	o.kept = append(o.kept[:0], make([]uint32, len(o.edits))...)
	for i := range o.edits {
		if x := &o.edits[i]; x.id&addedBit != 0 && !x.gone {
			x.id = o.base.NewID()
			o.kept[i] = x.id
		}
	}
	for i := range o.edits {
		if x := &o.edits[i]; x.isInner && !x.gone {
			b := inner(x.contents)
			for children := b[4 : 4+8*b.len()]; len(children) > 0; children = children[8:] {
				if id := binary.LittleEndian.Uint32(children); id&addedBit != 0 {
					binary.LittleEndian.PutUint32(children, o.kept[id&^addedBit])
				}
			}
		}
	}
	for _, t := range trees {
		if t.Root&addedBit != 0 {
			t.Root = o.kept[t.Root&^addedBit]
		}
	}
}
