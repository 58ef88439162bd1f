package datatype

import (
	"bytes"
	"slices"
)

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

// Splice puts elements in the place of those from from to to-1. It changes l.
func (l List) Splice(from, to int, elements [][]byte) List {
	return List(sequence(l).splice(from, to, elements))
}

// Find is the place of the first element from a place on that equals another, in steps of 1 or -1; -1 if there is none.
func (l List) Find(element []byte, from, step int) int {
	for i := from; i >= 0 && i < l.Len(); i += step {
		if bytes.Equal(l.At(i), element) {
			return i
		}
	}
	return -1
}

// Remove removes the elements that equal another: at most this number from the head on, or with a negative number from
// the tail on, with 0 all. It does not change l.
func (l List) Remove(element []byte, most int) (_ List, removed int) {
	n, at, step := l.Len(), 0, 1
	if most < 0 {
		at, step = n-1, -1
	}
	gone := make([]bool, n)
	for at = l.Find(element, at, step); at >= 0; at = l.Find(element, at+step, step) {
		gone[at] = true
		if removed++; removed == max(most, -most) {
			break
		}
	}
	kept := make([][]byte, 0, n-removed)
	for i := range n {
		if !gone[i] {
			kept = append(kept, l.At(i))
		}
	}
	return List(sequence(nil).splice(0, 0, kept)), removed
}
