package datatype

import "bytes"

// Hash is fields with values, in the order in which the fields came: a sequence of fields, each before its value.
type Hash []byte

// ValidHash reports whether data is a hash.
func ValidHash(data []byte) bool {
	s := sequence(data)
	if !s.valid() || s.count()%2 != 0 {
		return false
	}
	h := Hash(data)
	n := h.Len()
	if n*n <= fewSteps {
		for i := range n {
			if h.Find(h.Field(i)) != i {
				return false
			}
		}
		return true
	}
	return len(h.index().strings) == n
}

// fewSteps is the number of comparisons from which on an index is made.
const fewSteps = 4096

// Len is the number of fields.
func (h Hash) Len() int { return sequence(h).count() / 2 }

// Field is field i. It is valid until the hash changes.
func (h Hash) Field(i int) []byte { return sequence(h).at(2 * i) }

// Value is the value of field i. It is valid until the hash changes.
func (h Hash) Value(i int) []byte { return sequence(h).at(2*i + 1) }

// Find is the position of a field, -1 if there is none.
func (h Hash) Find(field []byte) int {
	n := h.Len()
	start, first := 0, headBytes(2*n) // the ends are read once each, because hashes may be large
	for i := range n {
		end := sequence(h).end(2 * i)
		if end-start == len(field) && bytes.Equal(h[first+start:first+end], field) {
			return i
		}
		start = sequence(h).end(2*i + 1)
	}
	return -1
}

// FewFields is the number of fields that are found one by one in a hash of any size. For more, a large hash is indexed.
const FewFields = 4

// areFew reports whether that many fields are found, or changed, one by one.
func (h Hash) areFew(fields int) bool {
	return fields <= FewFields || fields*(fields+h.Len()) <= fewSteps
}

// index is an index of the fields.
func (h Hash) index() *index {
	x := newIndex(h.Len())
	for i := range h.Len() {
		x.add(h.Field(i))
	}
	return x
}

// FindAll calls found with the position of each field in turn, -1 if there is none.
func (h Hash) FindAll(fields [][]byte, found func(i int)) {
	if h.areFew(len(fields)) {
		for _, field := range fields {
			found(h.Find(field))
		}
		return
	}
	x, places := h.places(fields, 1)
	for _, field := range fields {
		found(places[x.find(field)])
	}
}

// places returns an index of some fields, which are each step-th of the words, and the place of each in the hash, -1 if
// it is not there.
func (h Hash) places(words [][]byte, step int) (fields *index, places []int) {
	fields = newIndex(len(words) / step)
	for i := 0; i < len(words); i += step {
		if _, added := fields.add(words[i]); added {
			places = append(places, -1)
		}
	}
	for i := range h.Len() {
		if at := fields.find(h.Field(i)); at >= 0 {
			places[at] = i
		}
	}
	return fields, places
}

// Set sets fields, given each before its value, and counts the new ones. It changes h.
func (h Hash) Set(pairs [][]byte) (_ Hash, added int) {
	n, s := len(pairs)/2, sequence(h)
	if !h.areFew(n) {
		return h.setMany(pairs)
	}
	for i := 0; i < len(pairs); i += 2 {
		at := Hash(s).Find(pairs[i])
		if at >= 0 {
			s = s.splice(2*at+1, 2*at+2, pairs[i+1:i+2])
			continue
		}
		added++
		s = s.splice(s.count(), s.count(), pairs[i:i+2])
	}
	return Hash(s), added
}

func (h Hash) setMany(pairs [][]byte) (_ Hash, added int) {
	n := h.Len()
	fields, places := h.places(pairs, 2)
	all := make([][]byte, 0, 2*n+len(pairs))
	for i := range n {
		all = append(all, h.Field(i), h.Value(i))
	}
	for i := 0; i < len(pairs); i += 2 {
		place := &places[fields.find(pairs[i])]
		if *place < 0 {
			*place = len(all) / 2
			all = append(all, pairs[i], nil)
		}
		all[2**place+1] = pairs[i+1]
	}
	return Hash(sequence(nil).splice(0, 0, all)), len(all)/2 - n
}

// Delete removes fields and counts how many there were. It changes h.
func (h Hash) Delete(fields [][]byte) (_ Hash, deleted int) {
	if !h.areFew(len(fields)) {
		return h.deleteMany(fields)
	}
	for _, field := range fields {
		if at := h.Find(field); at >= 0 {
			h = Hash(sequence(h).splice(2*at, 2*at+2, nil))
			deleted++
		}
	}
	return h, deleted
}

func (h Hash) deleteMany(fields [][]byte) (_ Hash, deleted int) {
	gone := newIndex(len(fields))
	for _, field := range fields {
		gone.add(field)
	}
	kept := make([][]byte, 0, 2*h.Len())
	for i := range h.Len() {
		if gone.find(h.Field(i)) < 0 {
			kept = append(kept, h.Field(i), h.Value(i))
		}
	}
	return Hash(sequence(nil).splice(0, 0, kept)), h.Len() - len(kept)/2
}
