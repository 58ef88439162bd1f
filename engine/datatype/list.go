package datatype

import "slices"

// List is strings, the head first: a sequence. Finding one takes the same time anywhere in the list.
type List []byte

// ValidList reports whether data is a list.
func ValidList(data []byte) bool { return sequence(data).valid() }

// Len is the number of elements.
func (l List) Len() int { return sequence(l).count() }

// At is element i, counted from the head. It is valid until the list changes.
func (l List) At(i int) []byte { return sequence(l).at(i) }

// PushHead adds elements at the head: the last of them becomes the first of the list. It changes l.
func (l List) PushHead(elements [][]byte) List {
	if len(elements) > 1 {
		elements = slices.Clone(elements)
		slices.Reverse(elements)
	}
	return List(sequence(l).splice(0, 0, elements))
}

// PushTail adds elements at the tail. It changes l.
func (l List) PushTail(elements [][]byte) List {
	return List(sequence(l).splice(l.Len(), l.Len(), elements))
}

// Keep removes all but the elements from from to to-1. It changes l.
func (l List) Keep(from, to int) List {
	s := sequence(l)
	return List(s.splice(to, s.count(), nil).splice(0, from, nil))
}
