package comparison

import (
	"math"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// timeline is the tokens a second that each of several callers gets, over time, beside its ideal.
type timeline struct {
	picture string
	bin     int64 // nanoseconds of each point
	lines   []line
}

type line struct {
	name  string
	got   []float64 // tokens a second in each bin
	ideal func(second float64) float64
}

// caller asks evenly, asks times a second, while its ideal is above zero.
type caller struct {
	name  string
	asks  int64
	op    engine.Op
	ideal func(second float64) float64
}

const (
	timelineRate = 1000
	warmUp       = 5 // seconds before the picture, so that nobody has saved tokens when it begins
)

func always(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

// changing is a rate that is first until a time, then between, then last from another time on.
func changing(first, from, between, until, last float64) func(float64) float64 {
	return func(second float64) float64 {
		switch {
		case second < from:
			return first
		case second < until:
			return between
		}
		return last
	}
}

// timelines are the pictures of the algorithms that share.
func timelines() []timeline { return []timeline{shareTimeline(), treeTimeline(), adaptiveTimeline()} }

func shareTimeline() timeline {
	limit := meter(limits.FairShare, 100)
	limit.Rate.Tokens = timelineRate
	member := func(name string, weight int64) engine.Op {
		return engine.Op{Key: []byte("pool"), Limit: limit, Tokens: 1, Who: []byte(name), Weight: weight}
	}
	return play("fair-share.svg", []caller{
		{"free, asks 3000 a second", 3000, member("free", 1), changing(900, 3, 180, 7, 900)},
		{"plus, weight 4, asks 3000", 3000, member("plus", 4), changing(0, 3, 720, 7, 0)},
		{"small, asks 100", 100, member("small", 1), always(100)},
	})
}

func treeTimeline() timeline {
	class := func(name string, assured, ceiling int64) engine.Op {
		op := engine.Op{Verb: engine.AcquireAll, Tokens: 1}
		for _, node := range []struct {
			key            string
			capacity, rate int64
		}{{name, ceiling / 10, ceiling}, {"root", 200, timelineRate}} {
			limit := meter(limits.Class, node.capacity)
			limit.Rate.Tokens = node.rate
			op.Parts = append(op.Parts, engine.Op{Key: []byte(node.key), Limit: limit, Tokens: 1})
		}
		op.Parts[0].Who = engine.AppendAssured(nil, assured/10, limits.Rate{Tokens: assured, Period: second})
		return op
	}
	return play("classes.svg", []caller{
		{"silver, assured 300, at most 800", 3000, class("silver", 300, 800), changing(800, 3, 300, 7, 800)},
		{"gold, assured 600", 3000, class("gold", 600, 1000), changing(0, 3, 600, 7, 0)},
		{"bronze, assured 100, asks 100", 100, class("bronze", 100, 1000), always(100)},
	})
}

// play has callers ask for 10 s, after they have asked once and some of them on and on.
func play(picture string, callers []caller) timeline {
	keys := store.New(store.Config{Shards: 1})
	defer keys.Close()
	t := timeline{picture: picture, bin: second / 4}
	const end = 10 * second
	results := make([]engine.Result, 1)
	for _, c := range callers {
		keys.Apply(firstArrival-(warmUp+1)*second, []engine.Op{c.op}, results) // a class is registered
		t.lines = append(t.lines, line{c.name, make([]float64, end/t.bin), c.ideal})
	}
	const step = 100 * int64(time.Microsecond)
	for at := -warmUp * second; at < end; at += step {
		for i, c := range callers {
			seconds := float64(at) / float64(second)
			if c.ideal(seconds) == 0 || at*c.asks/second == (at-step)*c.asks/second {
				continue
			}
			keys.Apply(firstArrival+at, []engine.Op{c.op}, results)
			if results[0].Allowed && at >= 0 {
				t.lines[i].got[at/t.bin] += float64(second) / float64(t.bin)
			}
		}
	}
	return t
}

// adaptiveTimeline is of two fleets in front of a backend that refuses calls beyond its capacity, each with its own
// adaptive rate. Every tenth of a second each fleet makes as many calls as it may, and reports them.
func adaptiveTimeline() timeline {
	keys := store.New(store.Config{Shards: 1})
	defer keys.Close()
	const seconds, joins, halves = 60, 15, 40
	t := timeline{picture: "adaptive.svg", bin: second, lines: []line{
		{"fleet A", make([]float64, seconds), changing(1000, joins, 500, halves, 250)},
		{"fleet B", make([]float64, seconds), changing(0, joins, 500, halves, 250)},
	}}
	capacity := changing(1000, halves, 500, seconds, 500)
	limit := meter(limits.Adaptive, 100)
	limit.Least, limit.Rate.Tokens = 10, timelineRate
	results := make([]engine.Result, 1)
	const parts = 10
	for tick := range int64(seconds * parts) {
		at := tick * second / parts
		now := firstArrival + at
		var calls [2]int64
		for i, l := range t.lines {
			if l.ideal(float64(at)/float64(second)) == 0 {
				continue
			}
			keys.Apply(now, []engine.Op{{Key: []byte(l.name), Limit: limit, Tokens: limit.Capacity, Options: engine.UpTo}}, results)
			calls[i] = results[0].Granted
		}
		total := calls[0] + calls[1]
		served := min(total, int64(capacity(float64(at)/float64(second)))/parts)
		for i, l := range t.lines {
			good := calls[i] * served / max(1, total)
			report := &engine.Report{Good: good, Bad: calls[i] - good, Every: second, Down: engine.WholeRate * 80 / 100, Up: engine.WholeRate * 5 / 100}
			keys.Apply(now, []engine.Op{{Verb: engine.Adapt, Key: []byte(l.name), Report: report}}, results)
			l.got[at/t.bin] += float64(calls[i])
		}
	}
	return t
}

// TestTimelines checks the claims of the page beside the pictures: from a second after each change on, each caller of a
// fair share and each class gets its ideal within 2 % of the rate. Fleets get it on average, within 15 % of the
// backend, from eight seconds after each change on; 4 s after half of the backend has failed they are at most a step of
// 5 % each above it.
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
