package server

import "testing"

func TestSweepPace(t *testing.T) {
	const keys = 20_000_000
	var p sweepPace
	rounds := func(expired int) (looked int) { // of a hundred keys, in a hundred rounds
		for range 100 {
			looked = p.next(keys, false)
			p.note(looked, looked*expired/100)
		}
		return looked
	}
	if n := rounds(0); n != keys/slowSweepRounds {
		t.Errorf("a round looks at %d keys though none has expired", n)
	}
	if n := rounds(30); n != keys/fastSweepRounds {
		t.Errorf("a round looks at %d keys though a third has expired", n)
	}
	rounds(1)
	if n := p.next(keys, true); n != keys/fastSweepRounds {
		t.Errorf("a round looks at %d keys though room is scarce", n)
	}
	for _, few := range []int{0, 1, minSweep, fastSweepRounds * minSweep} {
		p = sweepPace{}
		if n := p.next(few, false); n != minSweep {
			t.Errorf("of %d keys a round looks at %d", few, n)
		}
	}
	if n := p.next(1_000_000_000, true); n != maxSweep {
		t.Errorf("of a billion keys a round looks at %d", n)
	}
}
