package blocks

import "bytes"

// Marks are where the first elements of a leaf begin. A heap has those of the leaf at whose end elements were last removed,
// so that the one before is found again without a look at all others.
type Marks struct {
	leaf uint32 // 0 if they are of no leaf
	at   []uint32
}

// fewSkipped is the number of elements that are passed over without marks.
const fewSkipped = 16

// lastAt returns where the element at a place of a leaf begins, which is near its end.
func lastAt(e *Editor, id uint32, leaf []byte, place int) int {
	if place < fewSkipped {
		return e.skip(leaf, place)
	}
	m := e.Marks(id)
	if m == nil {
		return e.skip(leaf, place)
	}
	if len(m.at) == 0 {
		m.at = append(m.at, 0)
	}
	for n := len(m.at); n <= place; n++ {
		_, _, end := spanOf(leaf, int(m.at[n-1]), e.Valued)
		m.at = append(m.at, uint32(end))
	}
	return int(m.at[place])
}

// Marks implements [Store].
func (h *Heap) Marks(leaf uint32) *Marks {
	if m := &h.marks; m.leaf != leaf {
		m.leaf, m.at = leaf, m.at[:0]
	}
	return &h.marks
}

// change keeps the marks that are right for the new contents of a block, too.
func (m *Marks) change(had, contents []byte) {
	same := min(len(had), len(contents))
	if !bytes.Equal(had[:same], contents[:same]) {
		m.leaf = 0
		return
	}
	for n := len(m.at); n > 0 && int(m.at[n-1]) >= same; n-- {
		m.at = m.at[:n-1]
	}
}

// Marks implements [Store]: of a block that is changed it has none.
func (o *Overlay) Marks(leaf uint32) *Marks {
	if leaf&addedBit != 0 || o.find(leaf) != nil {
		return nil
	}
	return o.base.Marks(leaf)
}
