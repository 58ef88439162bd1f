package algorithm

import (
	"encoding/binary"
	"math"

	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// RewindState turns back the times in a state by as much as lies between two times, unless it has expired at the
// earlier one.
func RewindState(state []byte, l *limits.Limit, from, to int64) {
	row := &Table[l.Algorithm]
	if row.Expired(state, l, from) && row.Expired(state, l, to+fullAfter(l, to)) {
		return
	}
	row.Rewind(state, l, from-to)
}

// fullAfter is the time after which a limiter that is used up, without debt, is at its full limit; 0 for data.
func fullAfter(l *limits.Limit, now int64) int64 {
	switch {
	case l.Algorithm.IsValue():
		return 0
	case l.Algorithm.HasRate():
		return l.DurationOf(l.Capacity)
	case l.Rate.Period == 0: // of the calendar
		start, end := WindowAt(now, l)
		return end - start
	}
	return 2 * max(l.Rate.Period, l.LongestBan)
}

// turnBack turns back the times at places of a state. A zero is none, and the largest number is no end.
func turnBack(state []byte, by int64, places ...int) {
	for _, at := range places {
		if t := int64(binary.LittleEndian.Uint64(state[at:])); t != 0 && t != math.MaxInt64 {
			binary.LittleEndian.PutUint64(state[at:], uint64(t-by))
		}
	}
}

// rewindTimes is for states with times at fixed places.
func rewindTimes(places ...int) func(state []byte, l *limits.Limit, by int64) {
	return func(state []byte, _ *limits.Limit, by int64) { turnBack(state, by, places...) }
}

// rewindSliding has the windows begin at a multiple of their width, like all others: at the next one.
func rewindSliding(state []byte, l *limits.Limit, by int64) {
	p, width := layout.LoadWindowPair(state), l.Rate.Period
	if off := layout.FloorMod(p.Start-by, width); off > 0 {
		by -= width - off
	}
	turnBack(state, by, 0)
}

func rewindLog(state []byte, _ *limits.Limit, by int64) {
	g := layout.SlidingLog(state)
	for i := range g.Len() {
		turnBack(g.Entry(i), by, 0)
	}
}

func rewindLeases(state []byte, _ *limits.Limit, by int64) {
	l := layout.Leases(state)
	turnBack(l, by, 8)
	for offset := layout.LeasesHead; offset < l.Used(); {
		_, _, next := l.At(offset)
		turnBack(l[offset:], by, 0)
		offset = next
	}
}

func rewindClass(state []byte, _ *limits.Limit, by int64) {
	turnBack(state, by, 8, 24, 64, 80, 88)
	n := ClassState(state)
	for i := range n.Children() {
		turnBack(n.child(i), by, 24)
	}
}

// rewindWrapped is for limiters with loans or closed windows. A number never takes more bytes after it was made
// smaller.
func rewindWrapped(inner func(state []byte, l *limits.Limit, by int64)) func(state []byte, l *limits.Limit, by int64) {
	return func(state []byte, l *limits.Limit, by int64) {
		inner(state[layout.WrappedAt:layout.WrappingHead], l, by)
		var all layout.Loans
		history, ok := all.Read(state)
		if !ok {
			return
		}
		history.Rewind(by)
		for i := range all.All {
			if until := &all.All[i].Until; *until > by {
				*until -= by
			}
		}
		turned := all.AppendTo(nil, state[layout.WrappedAt:layout.WrappingHead], &history, uint8(history.Len()))
		if size := len(state); len(turned) <= size {
			clear(state[copy(state, turned):])
			layout.SetVariableSize(state, size)
		}
	}
}
