package blocks

// At returns the element at a place.
func (e *Editor) At(place int) Element {
	id, rest := e.descend(place, false)
	b := e.Block(id)
	x, _ := e.next(b[e.skip(b, rest):])
	return x
}

// Find returns the element of a key.
func (e *Editor) Find(key []byte) (x Element, found bool) {
	if e.Root == 0 {
		return x, false
	}
	leaf, before, at, x, found := e.seek(key)
	e.found = position{key: append(e.found.key[:0], key...), leaf: leaf, before: before, at: at, isThere: found, isValid: true}
	if !found {
		return Element{}, false
	}
	return x, true
}

// Place returns the place of a key, or the place that it would have.
func (e *Editor) Place(key []byte) (place int, found bool) {
	if e.Root == 0 {
		return 0, false
	}
	_, before, _, _, found := e.seek(key)
	return e.before() + before, found
}

// Each visits the elements from a place on up to another, which is not included, until visit returns false.
func (e *Editor) Each(from, to int, visit func(x Element) (more bool)) {
	for from < to {
		id, rest := e.descend(from, false)
		b := e.Block(id)
		n := min(to-from, e.inLeaf-rest)
		left := b[e.skip(b, rest):]
		for range n {
			var x Element
			if x, left = e.next(left); !visit(x) {
				return
			}
		}
		from += n
	}
}

// EachBack is Each in the other order, from the last element to the first.
func (e *Editor) EachBack(from, to int, visit func(x Element) (more bool)) {
	var all []Element
	for from < to {
		id, rest := e.descend(to-1, false)
		b := e.Block(id)
		n := min(to-from, rest+1)
		left := b[e.skip(b, rest+1-n):]
		all = all[:0]
		for range n {
			var x Element
			x, left = e.next(left)
			all = append(all, x)
		}
		for i := n - 1; i >= 0; i-- {
			if !visit(all[i]) {
				return
			}
		}
		to -= n
	}
}
