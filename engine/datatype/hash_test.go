package datatype

import (
	"bytes"
	"slices"
	"testing"
)

// model is a hash kept simply.
type model struct {
	fields []string
	values map[string]string
}

func (m *model) set(pairs [][]byte) (added int) {
	for i := 0; i < len(pairs); i += 2 {
		field := string(pairs[i])
		if _, found := m.values[field]; !found {
			m.fields = append(m.fields, field)
			added++
		}
		m.values[field] = string(pairs[i+1])
	}
	return added
}

func (m *model) delete(fields [][]byte) (deleted int) {
	for _, field := range fields {
		if _, found := m.values[string(field)]; found {
			delete(m.values, string(field))
			at := slices.Index(m.fields, string(field))
			m.fields = slices.Delete(m.fields, at, at+1)
			deleted++
		}
	}
	return deleted
}

func (m *model) contents() (all []string) {
	for _, field := range m.fields {
		all = append(all, field, m.values[field])
	}
	return all
}

// A hash does as its model, with few fields at once and with many.
func TestHash(t *testing.T) {
	r := newRandom()
	var h Hash
	m := model{values: map[string]string{}}
	for range 2_000 {
		var got, want int
		switch r.IntN(3) {
		case 0:
			pairs := r.texts(r.many())
			pairs = append(pairs, pairs[0])[:len(pairs)/2*2]
			h, got = h.Set(pairs)
			want = m.set(pairs)
		case 1:
			fields := r.texts(r.many())
			h, got = h.Delete(fields)
			want = m.delete(fields)
		case 2:
			fields := r.texts(r.many())
			var found []int
			h.FindAll(fields, func(i int) { found = append(found, i) })
			for i, field := range fields {
				if found[i] != slices.Index(m.fields, string(field)) {
					t.Fatalf("%q is found at %d of %q", field, found[i], m.fields)
				}
			}
		}
		if got != want || h.Len() != len(m.fields) || !ValidHash(h) || !slices.Equal(contents(h), m.contents()) {
			t.Fatalf("%d for %d\n got %q\nwant %q", got, want, contents(h), m.contents())
		}
	}
}

// A field there twice makes no hash, nor does one without a value, whether they are few or many.
func TestMalformedHashes(t *testing.T) {
	for _, fields := range []int{1, 500} {
		var all [][]byte
		for i := range fields {
			all = append(all, []byte{byte(i), byte(i >> 8)}, []byte("v"))
		}
		hash := func(more ...[]byte) []byte { return sequence(nil).splice(0, 0, append(slices.Clone(all), more...)) }
		if !ValidHash(hash()) {
			t.Errorf("a hash of %d fields is refused", fields)
		}
		if ValidHash(hash([]byte("field"))) {
			t.Errorf("%d fields and one without a value are taken", fields)
		}
		if ValidHash(hash([]byte{0, 0}, []byte("v"))) {
			t.Errorf("%d fields and one twice are taken", fields)
		}
	}
}

func FuzzValidHash(f *testing.F) {
	h, _ := Hash(nil).Set([][]byte{[]byte("a"), []byte("1"), []byte("b"), []byte("22")})
	f.Add([]byte(h))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !ValidHash(data) {
			return
		}
		h := Hash(bytes.Clone(data))
		for i := range h.Len() {
			if h.Find(h.Field(i)) != i {
				t.Fatalf("field %d is not found", i)
			}
		}
		n := h.Len()
		h, added := h.Set([][]byte{[]byte("a"), []byte("other"), []byte("new"), nil})
		if h.Len() != n+added || !ValidHash(h) {
			t.Fatalf("%d fields and %d more: %x", n, added, h)
		}
		for h.Len() > 0 {
			if h, n = h.Delete([][]byte{bytes.Clone(h.Field(h.Len() / 2))}); n != 1 || !ValidHash(h) {
				t.Fatalf("%d fields gone: %x", n, h)
			}
		}
	})
}
