package main

import (
	"time"

	"github.com/stintdb/stint/engine"
)

// timeline is the tokens a second that each of several callers gets, over time, beside its ideal.
type timeline struct {
	picture, title, detail string
	most, grid             float64 // tokens a second: the top of the axis, and the distance of its lines
	bin                    int64   // nanoseconds of each point
	lines                  []line
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
	limit := meter(engine.FairShare, 100)
	limit.Rate.Tokens = timelineRate
	member := func(name string, weight int64) engine.Op {
		return engine.Op{Key: []byte("pool"), Limit: limit, Tokens: 1, Who: []byte(name), Weight: weight}
	}
	return play(timeline{picture: "fair-share.svg", title: "Fair share of 1000 a second",
		detail: "plus, with weight 4, comes at 3 s and leaves at 7 s"}, []caller{
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
			limit := meter(engine.Class, node.capacity)
			limit.Rate.Tokens = node.rate
			op.Parts = append(op.Parts, engine.Op{Key: []byte(node.key), Limit: limit, Tokens: 1})
		}
		op.Parts[0].Who = engine.AppendAssured(nil, assured/10, engine.Rate{Tokens: assured, Period: second})
		return op
	}
	return play(timeline{picture: "classes.svg", title: "Tree of classes under a root of 1000",
		detail: "gold asks from 3 s until 7 s"}, []caller{
		{"silver, assured 300, at most 800", 3000, class("silver", 300, 800), changing(800, 3, 300, 7, 800)},
		{"gold, assured 600", 3000, class("gold", 600, 1000), changing(0, 3, 600, 7, 0)},
		{"bronze, assured 100, asks 100", 100, class("bronze", 100, 1000), always(100)},
	})
}

// play has callers ask for 10 s, after they have asked once and some of them on and on.
func play(t timeline, callers []caller) timeline {
	store := engine.New(engine.Config{Shards: 1})
	defer store.Close()
	t.most, t.grid, t.bin = timelineRate, 250, second/4
	const end = 10 * second
	results := make([]engine.Result, 1)
	for _, c := range callers {
		store.Apply(firstArrival-(warmUp+1)*second, []engine.Op{c.op}, results) // a class is registered
		t.lines = append(t.lines, line{c.name, make([]float64, end/t.bin), c.ideal})
	}
	const step = 100 * int64(time.Microsecond)
	for at := -warmUp * second; at < end; at += step {
		for i, c := range callers {
			seconds := float64(at) / float64(second)
			if c.ideal(seconds) == 0 || at*c.asks/second == (at-step)*c.asks/second {
				continue
			}
			store.Apply(firstArrival+at, []engine.Op{c.op}, results)
			if results[0].Allowed && at >= 0 {
				t.lines[i].got[at/t.bin] += float64(second) / float64(t.bin)
			}
		}
	}
	return t
}

// adaptiveTimeline is of two fleets in front of a backend that refuses calls beyond its capacity, each with its own adaptive rate. Every tenth of
// a second each fleet makes as many calls as it may, and reports them.
func adaptiveTimeline() timeline {
	store := engine.New(engine.Config{Shards: 1})
	defer store.Close()
	const seconds, joins, halves = 60, 15, 40
	t := timeline{picture: "adaptive.svg", title: "Two fleets, backend of 1000 a second",
		detail: "fleet B comes at 15 s; half of the backend fails at 40 s", most: timelineRate, grid: 250, bin: second, lines: []line{
			{"fleet A", make([]float64, seconds), changing(1000, joins, 500, halves, 250)},
			{"fleet B", make([]float64, seconds), changing(0, joins, 500, halves, 250)},
		}}
	capacity := changing(1000, halves, 500, seconds, 500)
	limit := meter(engine.Adaptive, 100)
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
			store.Apply(now, []engine.Op{{Key: []byte(l.name), Limit: limit, Tokens: limit.Capacity, Options: engine.UpTo}}, results)
			calls[i] = results[0].Granted
		}
		total := calls[0] + calls[1]
		served := min(total, int64(capacity(float64(at)/float64(second)))/parts)
		for i, l := range t.lines {
			good := calls[i] * served / max(1, total)
			report := &engine.Report{Good: good, Bad: calls[i] - good, Every: second, Down: engine.WholeRate * 80 / 100, Up: engine.WholeRate * 5 / 100}
			store.Apply(now, []engine.Op{{Verb: engine.Adapt, Key: []byte(l.name), Report: report}}, results)
			l.got[at/t.bin] += float64(calls[i])
		}
	}
	return t
}
