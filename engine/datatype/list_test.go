package datatype

import (
	"bytes"
	"slices"
	"testing"
)

// A list does as a slice.
func TestList(t *testing.T) {
	r := newRandom()
	var l List
	var want []string
	for range 5_000 {
		in := r.texts(r.many())
		switch r.IntN(4) {
		case 0:
			l = l.PushHead(in)
			for _, b := range in {
				want = slices.Insert(want, 0, string(b))
			}
		case 1:
			l = l.PushTail(in)
			want = append(want, texts(in)...)
		case 2:
			from := r.IntN(len(want) + 1)
			to := from + r.IntN(len(want)-from+1)
			l, want = l.Keep(from, to), slices.Clone(want[from:to])
		case 3:
			if len(want) > 0 {
				l, want = l.Keep(1, len(want)), want[1:]
			}
		}
		if l.Len() != len(want) || !ValidList(l) || !slices.Equal(contents(l), want) {
			t.Fatalf("got %q\nwant %q", contents(l), want)
		}
	}
}

func FuzzValidList(f *testing.F) {
	f.Add([]byte(List(nil).PushTail([][]byte{[]byte("a"), nil, []byte("ccc")})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !ValidList(data) {
			return
		}
		want := append(append([]string{"first"}, contents(data)...), "last")
		l := List(bytes.Clone(data)).PushTail([][]byte{[]byte("last")}).PushHead([][]byte{[]byte("first")})
		for l.Len() > 0 {
			if !ValidList(l) || !slices.Equal(contents(l), want) {
				t.Fatalf("got %q\nwant %q", contents(l), want)
			}
			l, want = l.Keep(1, l.Len()), want[1:]
		}
	})
}

// Elements are replaced, found and removed as in a slice of strings.
func TestListElements(t *testing.T) {
	r := newRandom()
	for range 2000 {
		var want []string
		for range r.IntN(8) {
			want = append(want, string(rune('a'+r.IntN(3))))
		}
		l := listOf(want)
		from := r.IntN(len(want) + 1)
		to := from + r.IntN(len(want)-from+1)
		element := string(rune('a' + r.IntN(3)))
		if got := slices.Replace(slices.Clone(want), from, to, element, "new"); !slices.Equal(textsOf(listOf(want).Splice(from, to, [][]byte{[]byte(element), []byte("new")})), got) {
			t.Fatalf("%q from %d to %d: want %q", want, from, to, got)
		}
		if got := l.Find([]byte(element), 0, 1); got != slices.Index(want, element) {
			t.Fatalf("%q in %q: %d", element, want, got)
		}
		most := r.IntN(7) - 3
		left, removed := slices.Clone(want), 0
		for removed != max(most, -most) || most == 0 {
			at := slices.Index(left, element)
			if most < 0 {
				for at = len(left) - 1; at >= 0 && left[at] != element; at-- {
				}
			}
			if at < 0 {
				break
			}
			left = slices.Delete(left, at, at+1)
			removed++
		}
		if got, n := l.Remove([]byte(element), most); n != removed || !slices.Equal(textsOf(got), left) || !ValidList(got) {
			t.Fatalf("%d %q of %q: %q, want %q", most, element, want, textsOf(got), left)
		}
	}
}

func listOf(texts []string) (l List) {
	for _, text := range texts {
		l = l.PushTail([][]byte{[]byte(text)})
	}
	return l
}

func textsOf(l List) (texts []string) {
	for i := range l.Len() {
		texts = append(texts, string(l.At(i)))
	}
	return texts
}
