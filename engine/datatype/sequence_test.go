package datatype

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// random makes strings of few kinds, so that many are equal.
type random struct{ *rand.Rand }

func newRandom() random { return random{rand.New(rand.NewPCG(1, 2))} }

func (r random) text() []byte {
	if r.IntN(10) == 0 {
		return bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(300))
	}
	return fmt.Append(nil, r.IntN(100))
}

func (r random) texts(most int) (all [][]byte) {
	for range 1 + r.IntN(most) {
		all = append(all, r.text())
	}
	return all
}

// many is usually a few, and sometimes enough for the ways of many.
func (r random) many() int {
	if r.IntN(20) == 0 {
		return 400
	}
	return 6
}

func contents(data []byte) (all []string) {
	for i := range sequence(data).count() {
		all = append(all, string(sequence(data).at(i)))
	}
	return all
}

func texts(all [][]byte) (out []string) {
	for _, b := range all {
		out = append(out, string(b))
	}
	return out
}

// Every splice of a sequence is that of a slice, and leaves it valid.
func TestSplice(t *testing.T) {
	r := newRandom()
	var s sequence
	var want []string
	for range 5_000 {
		from := r.IntN(len(want) + 1)
		to := from + r.IntN(len(want)-from+1)
		if r.IntN(2) == 0 {
			to = min(to, from+r.IntN(4))
		}
		in := r.texts(r.many())[r.IntN(2):]
		s = s.splice(from, to, in)
		want = slices.Replace(want, from, to, texts(in)...)
		if !s.valid() || !slices.Equal(contents(s), want) {
			t.Fatalf("splice %d to %d, %q:\n got %q\nwant %q", from, to, in, contents(s), want)
		}
		if len(want) > 1000 {
			s, want = s[:0], nil
		}
	}
}

// Size is enough for what strings add.
func TestSize(t *testing.T) {
	r := newRandom()
	var s sequence
	for range 1000 {
		in := r.texts(6)
		most := len(s) + Size(in)
		if s = s.splice(0, 0, in); len(s) > most {
			t.Fatalf("%d bytes, at most %d announced", len(s), most)
		}
	}
}

func TestMalformedSequences(t *testing.T) {
	good := sequence(nil).splice(0, 0, [][]byte{[]byte("ab"), nil, []byte("c")})
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for name, data := range map[string][]byte{
		"cut count": good[:3], "cut ends": good[:9], "cut strings": good[:len(good)-1], "more behind": append(bytes.Clone(good), 0),
		"no strings": make([]byte, 4), "too many": change(0, 4), "too few": change(0, 2), "huge": change(3, 0xff),
		"backwards": change(4, 3), "huge end": change(7, 0x80), "end beyond": change(12, 4),
	} {
		for kind, valid := range map[string]func([]byte) bool{"hash": ValidHash, "list": ValidList, "set": ValidSet} {
			if valid(data) {
				t.Errorf("%s: is a %s", name, kind)
			}
		}
	}
	if !ValidList(good) {
		t.Error("a good one is refused")
	}
}
