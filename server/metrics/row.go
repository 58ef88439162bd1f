package metrics

import (
	"time"
)

// Kind is what Prometheus calls a metric's type.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Row is one metric. Its unit is the last part of its name, but for _total.
type Row struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string
	Bound  string // how many values the labels can have, and why no more
	When   string // on which servers there is the metric; "" is all

	// values passes on each value with its labels' values, in the order of Labels. Rows of histograms have distributions.
	values        func(r *Snapshot, emit func(value float64, labels ...string))
	distributions func(r *Snapshot, emit func(d Distribution, labels ...string))
}

// Distribution is the content of a histogram: Counts[i] at most Bounds[i] and more than the bound before; the last of Counts
// has no bound.
type Distribution struct {
	Bounds []time.Duration
	Counts []int64
	Sum    time.Duration

	latencies *Latencies // for native buckets; nil if only the classic ones are known
}

// distribution adds the cells up to classic buckets.
func (l *Latencies) distribution() Distribution {
	d := Distribution{Bounds: make([]time.Duration, len(classicBounds)), Counts: make([]int64, len(classicBounds)+1), Sum: time.Duration(l.SumNanos), latencies: l}
	bucket := 0
	for i, bound := range classicBounds {
		d.Bounds[i] = time.Duration(bound)
	}
	for i, bound := range cellBounds {
		if bucket < len(classicBounds) && bound > classicBounds[bucket] {
			bucket++
		}
		d.Counts[bucket] += l.cells[i]
	}
	return d
}

func (d *Distribution) count() (n int64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// one is the values of a metric without labels.
func one(value func(r *Snapshot) float64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) { emit(value(r)) }
}

// of is the value of a metric of a part that not every server has: it is nil where there is none.
func of[Part any](part func(r *Snapshot) *Part) func(func(p *Part) float64) func(*Snapshot, func(float64, ...string)) {
	return func(value func(p *Part) float64) func(*Snapshot, func(float64, ...string)) {
		return func(r *Snapshot, emit func(float64, ...string)) {
			if p := part(r); p != nil {
				emit(value(p))
			}
		}
	}
}

// each is the values of a metric with the label command.
func each(value func(c *Command) int64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) {
		for i := range r.Commands {
			emit(float64(value(&r.Commands[i])), r.Commands[i].Name)
		}
	}
}

// emitChecks passes on the counts of policies or rules, with the labels name and outcome.
func emitChecks(counts []PolicyCounts, emit func(float64, ...string)) {
	for _, c := range counts {
		emit(float64(c.Granted), c.Name, "granted")
		emit(float64(c.Denied), c.Name, "denied")
		emit(float64(c.ShadowDenied), c.Name, "shadow_denied")
	}
}

func zeroOrOne(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
