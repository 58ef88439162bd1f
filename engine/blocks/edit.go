package blocks

import "bytes"

// Insert adds an element before the one at a place, or at the end, of a tree without keys.
func (e *Editor) Insert(place int, key []byte) {
	if e.Root == 0 {
		e.begin(Element{Key: key})
		return
	}
	id, rest := e.descend(place, true)
	b, at := e.Block(id), 0
	if at = len(b); rest < e.inLeaf {
		at = e.skip(b, rest)
	}
	e.put(id, b, rest, at, 0, Element{Key: key})
}

// begin makes the only element of a tree.
func (e *Editor) begin(x Element) {
	e.leaf = e.append(e.leaf[:0], x)
	*e.Tree = Tree{Root: e.Add(e.leaf, false), Count: 1}
}

// put writes an element into a leaf b, before the element at a place whose bytes begin at an offset, and in the place of
// the bytes of an old element.
func (e *Editor) put(id uint32, b []byte, place, at, old int, x Element) {
	e.leaf = e.append(append(e.leaf[:0], b[:at]...), x)
	e.leaf = append(e.leaf, b[at+old:]...)
	n, firstCut := e.inLeaf, 0
	if old == 0 {
		switch {
		case at == len(b) && e.isLast(): // more may come at this end: the leaf stays full
			firstCut = place
		case place == 0 && isFirst(e):
			firstCut = 1
		}
		n++
		e.addCount(1)
	}
	e.setLeaf(id, e.leaf, n, firstCut)
}

// Put adds an element, or gives the element of a key another value. It returns the length of the value before.
func (e *Editor) Put(x Element) (before int, added bool) {
	if e.Root == 0 {
		e.begin(x)
		return 0, true
	}
	id, place, at, had, found := e.seek(x.Key)
	b := e.Block(id)
	if !found {
		e.put(id, b, place, at, 0, x)
		return 0, true
	}
	before = len(had.Value)
	if !bytes.Equal(had.Value, x.Value) {
		e.put(id, b, place, at, e.skip(b[at:], 1), x)
	}
	return before, false
}

// SetAt replaces the element at a place of a tree without keys.
func (e *Editor) SetAt(place int, key []byte) {
	id, rest := e.descend(place, false)
	b := e.Block(id)
	at := e.skip(b, rest)
	e.put(id, b, rest, at, e.skip(b[at:], 1), Element{Key: key})
}

// Delete removes the element of a key.
func (e *Editor) Delete(key []byte) (found bool) {
	if e.Root == 0 {
		return false
	}
	id, _, at, _, found := e.seek(key)
	if found {
		b := e.Block(id)
		e.cut(id, b, at, e.skip(b[at:], 1), 1)
	}
	return found
}

// cut removes n elements, which are some bytes at an offset of a leaf b.
func (e *Editor) cut(id uint32, b []byte, at, size, n int) {
	e.leaf = append(append(e.leaf[:0], b[:at]...), b[at+size:]...)
	left := e.inLeaf - n
	e.addCount(-n)
	e.setLeaf(id, e.leaf, left, 0)
}

// DeleteRange removes the elements from a place on up to another, which is not included. If removed is not nil, it is
// called for each of them before.
func (e *Editor) DeleteRange(from, to int, removed func(x Element)) {
	for from < to {
		id, rest := e.descend(from, false)
		b := e.Block(id)
		n := min(to-from, e.inLeaf-rest)
		var at, size int
		if rest+n == e.inLeaf {
			at = lastAt(e, id, b, rest)
			size = len(b) - at
		} else {
			at = e.skip(b, rest)
			size = e.skip(b[at:], n)
		}
		if removed != nil {
			for left := b[at : at+size]; len(left) > 0; {
				var x Element
				x, left = e.next(left)
				removed(x)
			}
			b = e.Block(id)
		}
		e.cut(id, b, at, size, n)
		to -= n
	}
}

// Clear frees all blocks. The tree is empty then.
func (e *Editor) Clear() {
	e.found.isValid = false
	freeBlocks(e.Store, e.Root, e.Depth)
	*e.Tree = Tree{}
}

// freeBlocks frees a block and the blocks below it.
func freeBlocks(s Store, id, depth uint32) {
	if id == 0 {
		return
	}
	if depth > 0 {
		for i := range inner(s.Block(id)).len() {
			freeBlocks(s, inner(s.Block(id)).id(i), depth-1)
		}
	}
	s.Free(id)
}
