package blocks

import (
	"bytes"
	"slices"
)

// Store has the blocks of trees. The number of a block is not 0.
type Store interface {
	// Block returns the contents of a block. They are valid until any block changes.
	Block(id uint32) []byte
	// AddCount adds to the number of elements in a child of an inner block.
	AddCount(id uint32, child, n int)
	// Add makes a block, and Set replaces the contents of one. Both copy the contents. An inner block refers to others.
	Add(contents []byte, isInner bool) (id uint32)
	Set(id uint32, contents []byte, isInner bool)
	Free(id uint32)
	// Marks returns the marks of a leaf, nil if there is no room for them.
	Marks(leaf uint32) *Marks
}

// Tree is elements in the order of their keys, or, without keys, in an order that the caller gives them by their
// places. The zero value is empty.
type Tree struct {
	Root  uint32 // the number of its uppermost block, 0 if there is none
	Depth uint32 // the number of levels of inner blocks
	Count uint32 // of elements
}

// Bounds of blocks. A block with one large element is larger.
const (
	leafBytes  = 1000
	innerBytes = 2000
	minShare   = 4 // a block that shrinks to less than 1/minShare of its bound is merged with a neighbour where that leaves room
	fewestKept = 4 // children of an inner block, however long their separators are
	maxDepth   = 24
)

// Editor reads and changes trees. The zero value with a store and a tree is ready for use.
type Editor struct {
	Store
	*Tree
	Keyed  bool // the elements are in the order of their keys, which differ
	Valued bool // the elements have values

	path     [maxDepth]step
	inLeaf   int // the number of elements in the leaf of the path
	found    position
	leaf     []byte // scratch: the new contents of a leaf, and of inner blocks
	left     []byte
	right    []byte
	children []child
	pieces   []piece
}

// step is an inner block on the way to a leaf, the child at which the way goes on, and the number of its children.
type step struct {
	id     uint32
	at, of int
}

// position is where [Editor.Find] looked for an element, to which the path leads as long as the tree is not read
// otherwise or changed: most changes look for their key first.
type position struct {
	key        []byte
	leaf       uint32
	before, at int
	isThere    bool // the key is there
	isValid    bool
}

// Open makes the editor one of a tree in a store. An editor is reused for the memory that it has.
func (e *Editor) Open(s Store, t *Tree) { e.Store, e.Tree, e.found.isValid = s, t, false }

// seek goes to the leaf of a key, and returns where in the leaf the key is or would be.
func (e *Editor) seek(key []byte) (leaf uint32, before, at int, x Element, found bool) {
	if p := &e.found; p.isValid && bytes.Equal(p.key, key) {
		if p.isThere {
			x, _ = e.next(e.Block(p.leaf)[p.at:])
		}
		return p.leaf, p.before, p.at, x, p.isThere
	}
	leaf = e.descendTo(key)
	before, at, x, found = e.search(e.Block(leaf), key)
	return leaf, before, at, x, found
}

// descend goes to the leaf of a place, and returns the place within it. With insert, a place between two leaves is the
// end of the first one.
func (e *Editor) descend(place int, insert bool) (leaf uint32, rest int) {
	leaf, e.found.isValid = e.Root, false
	total := int(e.Count)
	for level := range e.Depth {
		b, at := inner(e.Block(leaf)), 0
		if place <= total/2 {
			for n := int(b.count(0)); place > n || place == n && !insert; n = int(b.count(at)) {
				place -= n
				at++
			}
		} else { // from the end
			at = b.len() - 1
			before := total - int(b.count(at))
			for ; before > place || before == place && insert; before -= int(b.count(at)) {
				at--
			}
			place -= before
		}
		e.path[level] = step{leaf, at, b.len()}
		leaf, total = b.id(at), int(b.count(at))
	}
	e.inLeaf = total
	return leaf, place
}

// descendTo goes to the leaf of a key.
func (e *Editor) descendTo(key []byte) (leaf uint32) {
	leaf, e.inLeaf, e.found.isValid = e.Root, int(e.Count), false
	for level := range e.Depth {
		b := inner(e.Block(leaf))
		at := b.childOf(key)
		e.path[level] = step{leaf, at, b.len()}
		leaf, e.inLeaf = b.id(at), int(b.count(at))
	}
	return leaf
}

// before returns the number of elements before the leaf of the path.
func (e *Editor) before() (n int) {
	for level := range e.Depth {
		b := inner(e.Block(e.path[level].id))
		for i := range e.path[level].at {
			n += int(b.count(i))
		}
	}
	return n
}

// addCount adds to the number of elements along the path.
func (e *Editor) addCount(n int) {
	e.Count += uint32(n)
	for level := range e.Depth {
		e.AddCount(e.path[level].id, e.path[level].at, n)
	}
}

// isFirst and isLast report whether the leaf of the path is the first or the last one of the tree.
func isFirst(e *Editor) bool {
	return !slices.ContainsFunc(e.path[:e.Depth], func(s step) bool { return s.at != 0 })
}

func (e *Editor) isLast() bool {
	return !slices.ContainsFunc(e.path[:e.Depth], func(s step) bool { return s.at != s.of-1 })
}

// setLeaf gives the leaf of the path new contents of n elements, which are in the counts already. The contents are not
// in the store. A leaf that is too large is cut at firstCut, or in the middle.
func (e *Editor) setLeaf(id uint32, contents []byte, n, firstCut int) {
	e.found.isValid = false
	switch {
	case n == 0:
		e.Free(id)
		e.replace(e.Depth, 1, nil)
	case len(contents) > leafBytes && n > 1:
		pieces := e.divide(contents, n, firstCut)
		with := make([]child, len(pieces))
		for i, p := range pieces {
			with[i] = child{id: id, count: uint32(p.count)}
			if i > 0 {
				with[i].separator = e.separatorOf(pieces[i-1], p)
				with[i].id = e.Add(p.bytes, false)
			}
		}
		e.Set(id, pieces[0].bytes, false)
		e.replace(e.Depth, 1, with)
	case len(contents) < leafBytes/minShare && e.Depth > 0 && len(contents) < len(e.Block(id)) && e.mergeLeaf(contents):
	default:
		e.Set(id, contents, false)
	}
}

// mergeLeaf joins the leaf of the path with a neighbour, if both have room in one leaf.
func (e *Editor) mergeLeaf(contents []byte) bool {
	s := &e.path[e.Depth-1]
	parent := inner(e.Block(s.id))
	for _, first := range [2]int{s.at, s.at - 1} {
		if first < 0 || first+1 >= parent.len() {
			continue
		}
		other := e.Block(parent.id(2*first + 1 - s.at))
		if len(contents)+len(other) > leafBytes*3/4 {
			continue
		}
		if first == s.at {
			e.left = append(append(e.left[:0], contents...), other...)
		} else {
			e.left = append(append(e.left[:0], other...), contents...)
		}
		joined := child{id: parent.id(first), count: parent.count(first) + parent.count(first+1)}
		gone := parent.id(first + 1)
		e.Set(joined.id, e.left, false)
		e.Free(gone)
		s.at = first
		e.replace(e.Depth, 2, []child{joined})
		return true
	}
	return false
}

// replace puts children in the place of n children of the last inner block of a path of some levels, from that on at
// which the path goes on. The numbers of elements agree with the counts above.
func (e *Editor) replace(levels uint32, n int, with []child) {
	if levels == 0 {
		e.replaceRoot(with)
		return
	}
	s := e.path[levels-1]
	b := inner(e.Block(s.id))
	isEnd := s.at+n == b.len() && len(with) > n
	now := b.splice(e.left[:0], s.at, n, with)
	e.left = now
	switch {
	case now.len() == 0:
		e.Free(s.id)
		e.replace(levels-1, 1, nil)
	case now.len() == 1 && levels == 1:
		e.Root = now.id(0)
		e.Depth--
		e.Free(s.id)
	case len(now) > innerBytes && now.len() >= 2*fewestKept:
		e.splitInner(levels, now, isEnd)
	case levels > 1 && len(now) < innerBytes/minShare && len(with) < n && e.mergeInner(levels, now):
	default:
		e.Set(s.id, now, true)
	}
}

// replaceRoot makes children the tree.
func (e *Editor) replaceRoot(with []child) {
	switch len(with) {
	case 0:
		*e.Tree = Tree{}
	case 1:
		e.Root = with[0].id
	default:
		e.left = appendInner(e.left[:0], with)
		e.Root = e.Add(e.left, true)
		e.Depth++
	}
}

// splitInner divides the last inner block of a path of some levels, whose contents are to be these.
func (e *Editor) splitInner(levels uint32, now inner, isEnd bool) {
	all := now.appendChildren(e.children[:0], nil)
	e.children = all
	s, half := e.path[levels-1], len(all)/2
	if isEnd && e.isLast() {
		half = len(all) - fewestKept // further children will be added there
	}
	left := child{id: s.id, count: sumOf(all[:half])}
	right := child{count: sumOf(all[half:]), separator: slices.Clone(all[half].separator)}
	e.right = appendInner(e.right[:0], all[half:])
	right.id = e.Add(e.right, true)
	e.right = appendInner(e.right[:0], all[:half])
	e.Set(s.id, e.right, true)
	e.replace(levels-1, 1, []child{left, right})
}

// mergeInner joins the last inner block of a path of some levels, whose contents are to be these, with a neighbour, if
// both have room in one block.
func (e *Editor) mergeInner(levels uint32, now inner) bool {
	all := now.appendChildren(e.children[:0], nil)
	e.children = all
	s := &e.path[levels-2]
	parent := inner(e.Block(s.id))
	own := len(all)
	for _, first := range [2]int{s.at, s.at - 1} {
		if first < 0 || first+1 >= parent.len() {
			continue
		}
		other := 2*first + 1 - s.at
		both := all[:own]
		if first == s.at {
			both = inner(e.Block(parent.id(other))).appendChildren(both, parent.separator(other))
		} else {
			both[0].separator = parent.separator(s.at)
			both = append(inner(e.Block(parent.id(other))).appendChildren(nil, nil), both...)
		}
		if e.right = appendInner(e.right[:0], both); len(e.right) > innerBytes*3/4 {
			continue
		}
		joined := child{id: parent.id(first), count: sumOf(both)}
		gone := parent.id(first + 1)
		e.Set(joined.id, e.right, true)
		e.Free(gone)
		s.at = first
		e.replace(levels-1, 2, []child{joined})
		return true
	}
	return false
}
