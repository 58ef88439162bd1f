// Package clockpair compares two clocks of a machine.
//
// Clocks are read one after the other, and the process may be stopped between two readings: it is frozen, the machine
// suspends it, or the CPU goes to others. Each clock then goes on by the length of that pause, but the pause also shows
// in their difference, as if one of them had been set. A program that moves its time by that difference moves it for
// good. So one clock is read before and after the other: a pause can only be where it makes the two differ less.
package clockpair

// Pair is a reading of one clock between two readings of another one, in nanoseconds.
type Pair struct{ Before, Between, After int64 }

// Read reads both clocks. outer must not go back.
func Read(outer, inner func() int64) Pair {
	before := outer()
	return Pair{before, inner(), outer()}
}

// Ahead returns by how much the inner clock is ahead of the outer one, if it was ahead by known before: of all
// differences that the readings allow, the one that is nearest to known. A pause between the readings does not change
// it.
func (p Pair) Ahead(known int64) int64 {
	return min(max(known, p.Between-p.After), p.Most())
}

// Most is the most by which the inner clock can be ahead of the outer one.
func (p Pair) Most() int64 { return p.Between - p.Before }

// FirstAhead returns by how much the inner clock is ahead of the outer one where nothing is known yet: the least that
// the readings allow. It reads the clocks again, a few times at most, if a pause came between.
func FirstAhead(outer, inner func() int64) int64 {
	best := Read(outer, inner)
	for try := 1; try < maxTries && best.After-best.Before > closeEnough; try++ {
		if p := Read(outer, inner); p.After-p.Before < best.After-best.Before {
			best = p
		}
	}
	return best.Between - best.After
}

const (
	closeEnough = 100_000 // nanoseconds: a reading of three clocks takes less than one thousandth of it
	maxTries    = 8
)
