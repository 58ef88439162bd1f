package main

import (
	"math"
	"testing"
)

// TestTimelines checks the claims of the page beside the pictures: from a second after each change on, each caller of a fair share and each class
// gets its ideal within 2 % of the rate. Fleets get it on average, within 15 % of the backend, from eight seconds after each change on; 4 s after half of the
// backend has failed they are at most a step of 5 % each above it.
func TestTimelines(t *testing.T) {
	for _, p := range timelines() {
		settled, near := 1.0, 0.02*timelineRate
		if p.picture == "adaptive.svg" {
			settled, near = 8, 0.15*timelineRate
			if both := p.lines[0].got[43] + p.lines[1].got[43]; both > 500+2*0.05*timelineRate {
				t.Errorf("4 s after half of 1000 has failed, the fleets make %.0f calls a second", both)
			}
		}
		for _, l := range p.lines {
			sum, ideal, bins, since := 0.0, l.ideal(0), 0.0, 0.0
			check := func() {
				if mean := sum / max(1, bins); math.Abs(mean-ideal) > near {
					t.Errorf("%s: %s gets %.1f, and its ideal is %g", p.picture, l.name, mean, ideal)
				} else {
					t.Logf("%s: %s gets %.1f, and its ideal is %g", p.picture, l.name, mean, ideal)
				}
				sum, bins = 0, 0
			}
			for i, got := range l.got {
				at := float64(int64(i)*p.bin) / float64(second)
				if l.ideal(at) != ideal {
					check()
					ideal, since = l.ideal(at), at
				}
				if at >= since+settled {
					sum, bins = sum+got, bins+1
				}
			}
			check()
		}
	}
}
