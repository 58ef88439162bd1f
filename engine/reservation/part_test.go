package reservation

import (
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
		for _, l := range []limits.Limit{{}, {Warn: 80}, {History: 36}, {History: 1, Warn: 100}} {
			l.Algorithm, l.Span, l.Capacity = limits.FixedWindow, span, 300
			if span <= limits.Aligned {
				l.Rate.Period = 1500e6
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
				r.Rest = AppendPart(nil, &engine.Op{Key: []byte("key"), Limit: l, Options: engine.FixedCost}, 7, -9, true)
				p := NextPart(&r)
				if r.Bad || len(r.Rest) > 0 || p.Limit != l || p.Charged() != 7 || p.Mark != -9 || string(p.Key) != "key" || !p.FixedCost {
					t.Errorf("%+v is read as %+v, %d bytes left", l, p, len(r.Rest))
				}
			}
		}
	}
}
