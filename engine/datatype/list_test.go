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
