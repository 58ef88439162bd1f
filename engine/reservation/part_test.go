package reservation

import (
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
)

// A part of a reservation is read as it was written, with every combination of the fields that have a bit: of a
// calendar, a history and a threshold.
func TestReservedPartsAreReadAsWritten(t *testing.T) {
	anchor := calendar.Anchor{Zone: 300, From: 4<<5 | 6}
	for span := limits.FromFirst; span <= limits.EachYear; span++ {
		for _, l := range []limits.Limit{{}, {Warn: 80}, {History: 36}, {History: 1, Warn: 100}, {History: 3, Rollover: 50}, {History: 36, Rollover: 100, Warn: 1}} {
			l.Algorithm, l.Span, l.Capacity = limits.FixedWindow, span, 300
			if span <= limits.Aligned {
				l.Rate.Period = 1500e6
			}
			if span == limits.FromFirst {
				l.Rollover = 0
			}
			all := []limits.Limit{l}
			if _, ok := span.Unit(); ok {
				l.Anchor = anchor
				all = append(all, l)
			}
			for _, l := range all {
				if span != limits.EachYear {
					l.Anchor.From = 0
				}
				if !l.IsAskable() {
					t.Fatalf("%+v is no limit", l)
				}
				var r engine.PartReader
				r.Rest = AppendPart(nil, &engine.Op{Key: []byte("key"), Limit: l, Options: engine.FixedCost}, 7, []Mark{{-9, 7}})
				p := NextPart(&r)
				if r.Bad || len(r.Rest) > 0 || p.Limit != l || p.Charged() != 7 || p.mark != -9 || string(p.Key) != "key" || !p.FixedCost {
					t.Errorf("%+v is read as %+v, %d bytes left", l, p, len(r.Rest))
				}
			}
		}
	}
}

// The tokens of a part have the marks that they were written with. What is left without a mark of an extension has the
// first.
func TestMarksAreReadAsWritten(t *testing.T) {
	l := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 300, Rate: limits.Rate{Period: 1e9}}
	for n := range engine.MaxMarks {
		marks, charged := []Mark{}, int64(0)
		for i := range n + 1 {
			marks = append(marks, Mark{int64(i*i) - 100, int64(i)})
			charged += int64(i)
		}
		b := AppendPart(nil, &engine.Op{Key: []byte("key"), Limit: l}, charged, marks)
		r := engine.PartReader{Rest: b}
		p := NextPart(&r)
		if got := p.AppendMarks(nil); r.Bad || len(r.Rest) > 0 || !slices.Equal(got, marks) || !p.marksAreValid() || string(p.Key) != "key" {
			t.Fatalf("%v is read as %v, %d bytes left", marks, got, len(r.Rest))
		}
		if p.SetCharged(charged - 1); n > 0 && charged > 0 && p.marksAreValid() {
			t.Errorf("%d marks of more tokens than are charged", n)
		}
		for size := range b {
			if r := (engine.PartReader{Rest: b[:size]}); n < 4 && len(NextPart(&r).Key) == 3 && !r.Bad {
				t.Errorf("%d of %d bytes are taken as a part", size, len(b))
			}
		}
	}
	tooMany := AppendPart(nil, &engine.Op{Limit: l}, 9, make([]Mark, engine.MaxMarks+1))
	if r := (engine.PartReader{Rest: tooMany}); NextPart(&r).marks != nil || !r.Bad {
		t.Error("more marks than there may be are taken")
	}
}

// Version 0.2.0 keeps no purse's mark, and refuses an algorithm that it does not know: with the bit of further marks, it
// does not know that of any purse.
func TestPartsOfPursesAreNewerThan020(t *testing.T) {
	l := limits.Limit{Algorithm: limits.PurseTokenBucket, Capacity: 300, Rate: limits.Rate{Tokens: 1, Period: 1e9}}
	for _, marks := range [][]Mark{{{-9, 7}}, {{-9, 3}, {8, 4}}} {
		r := engine.PartReader{Rest: AppendPart(nil, &engine.Op{Key: []byte("key"), Limit: l}, 7, marks)}
		if r.Rest[0]&hasMarks == 0 {
			t.Errorf("%v: the algorithm is %d", marks, r.Rest[0])
		}
		p := NextPart(&r)
		if got := p.AppendMarks(nil); r.Bad || len(r.Rest) > 0 || p.Limit != l || !slices.Equal(got, marks) || string(p.Key) != "key" {
			t.Errorf("%v is read as %+v", marks, p)
		}
	}
}

// Equal marks become one, and so do the marks of windows that are over, and all marks of a balance.
func TestMarksAreFew(t *testing.T) {
	const s = int64(1e9)
	for name, c := range map[string]struct {
		limit limits.Limit
		want  []Mark
	}{
		"fixed":   {limits.Limit{Algorithm: limits.FixedWindow}, []Mark{{0, 5}, {4 * s, 1}}},
		"history": {limits.Limit{Algorithm: limits.FixedWindow, History: 3}, []Mark{{s, 2}, {2 * s, 1}, {3 * s, 2}, {4 * s, 1}}},
		"balance": {limits.Limit{Algorithm: limits.Balance}, []Mark{{4 * s, 6}}},
		"sliding": {limits.Limit{Algorithm: limits.SlidingWindow, Rate: limits.Rate{Period: s}}, []Mark{{0, 3}, {3 * s, 2}, {4 * s, 1}}},
		"log":     {limits.Limit{Algorithm: limits.SlidingLog, Rate: limits.Rate{Period: 3 * s}}, []Mark{{0, 2}, {2 * s, 1}, {3 * s, 2}, {4 * s, 1}}},
	} {
		marks := []Mark{{s, 1}}
		for _, at := range []int64{s, 2 * s, 3 * s, 3 * s, 4 * s} {
			marks = AddMark(marks, &c.limit, Mark{at, 1})
		}
		if !slices.Equal(marks, c.want) {
			t.Errorf("%s: %v, not %v", name, marks, c.want)
		}
	}
}
