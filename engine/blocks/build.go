package blocks

import "bytes"

// Builder makes a tree of elements that come in their order.
type Builder struct {
	e        *Editor
	leaf     []byte
	count    int
	children []child
}

// Build begins a tree in the place of the editor's, which is empty.
func (e *Editor) Build() *Builder { return &Builder{e: e} }

// Add adds an element at the end.
func (b *Builder) Add(x Element) {
	size := len(b.leaf)
	if b.leaf = b.e.append(b.leaf, x); size > 0 && len(b.leaf) > leafBytes {
		full, rest := b.leaf[:size], b.leaf[size:]
		b.close(full)
		b.leaf = b.leaf[:copy(b.leaf, rest)]
	}
	b.count++
}

// close makes a leaf of the elements so far.
func (b *Builder) close(leaf []byte) {
	c := child{id: b.e.Store.Add(leaf, false), count: uint32(b.count)}
	if b.e.Keyed {
		first, _ := b.e.next(leaf)
		c.separator = bytes.Clone(first.Key)
	}
	b.children, b.count = append(b.children, c), 0
}

// End ends the tree.
func (b *Builder) End() {
	if b.count > 0 {
		b.close(b.leaf)
	}
	level := b.children
	t := Tree{Count: sumOf(level)}
	for ; len(level) > 1; t.Depth++ {
		var above []child
		for from := 0; from < len(level); {
			to, size := from, 4
			for to < len(level) && (size <= innerBytes || to-from < 2*fewestKept) {
				size += 12 + len(level[to].separator)
				to++
			}
			c := child{count: sumOf(level[from:to]), separator: level[from].separator}
			c.id = b.e.Store.Add(appendInner(nil, level[from:to]), true)
			above, from = append(above, c), to
		}
		level = above
	}
	if len(level) > 0 {
		t.Root = level[0].id
	}
	*b.e.Tree = t
}
