package datatype

import (
	"bytes"
	"maps"
	"slices"
	"testing"
)

// A set does as a map, with few members at once and with many.
func TestSet(t *testing.T) {
	r := newRandom()
	var s Set
	m := map[string]bool{}
	for range 2_000 {
		in := r.texts(r.many())
		before, changed := len(m), 0
		other := map[string]bool{}
		for _, b := range in {
			other[string(b)] = true
		}
		switch r.IntN(5) {
		case 0:
			s, changed = s.Add(in)
			maps.Copy(m, other)
		case 1:
			s, changed = s.Remove(in)
			maps.DeleteFunc(m, func(k string, _ bool) bool { return other[k] })
		case 2:
			s = s.Union(SetOf(in))
			maps.Copy(m, other)
			changed = len(m) - before
		case 3:
			s = s.Diff(SetOf(in))
			maps.DeleteFunc(m, func(k string, _ bool) bool { return other[k] })
			changed = before - len(m)
		case 4:
			for _, b := range in {
				if s.Has(b) != m[string(b)] {
					t.Fatalf("%q is a member: %v", b, s.Has(b))
				}
			}
		}
		if want := slices.Sorted(maps.Keys(m)); !ValidSet(s) || max(len(m)-before, before-len(m)) != changed || !slices.Equal(contents(s), want) {
			t.Fatalf("%d changed\n got %q\nwant %q", changed, contents(s), want)
		}
	}
}

func FuzzValidSet(f *testing.F) {
	f.Add([]byte(SetOf([][]byte{[]byte("a"), nil, []byte("ccc")})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !ValidSet(data) {
			return
		}
		s := Set(bytes.Clone(data))
		for i := range s.Len() {
			if !s.Has(s.At(i)) {
				t.Fatalf("%q is not found", s.At(i))
			}
		}
		s, _ = s.Add([][]byte{[]byte("x"), []byte("y")})
		if !ValidSet(s) || s.Diff(s).Len() != 0 || !bytes.Equal(s.Union(s), s) || !bytes.Equal(s.Inter(s), s) {
			t.Fatalf("wrong after x and y: %x", s)
		}
		for s.Len() > 0 {
			n := 0
			if s, n = s.Remove([][]byte{bytes.Clone(s.At(s.Len() / 2))}); n != 1 || !ValidSet(s) {
				t.Fatalf("%d removed: %x", n, s)
			}
		}
	})
}

// The intersection of two sets is one of them without the members that only it has.
func TestInter(t *testing.T) {
	r := newRandom()
	for range 1_000 {
		a, b := SetOf(r.texts(r.many())), SetOf(r.texts(r.many()))
		if got, want := a.Inter(b), a.Diff(a.Diff(b)); !ValidSet(got) || !bytes.Equal(got, want) {
			t.Fatalf("%q and %q: %q, want %q", a, b, got, want)
		}
	}
}
