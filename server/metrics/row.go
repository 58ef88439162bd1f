package metrics

import (
	"time"
)

// Kind is a metric's type in Prometheus.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Row is one metric. The last part of its name, except _total, is its unit.
type Row struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string
	Bound  string // what limits the number of values of the labels
	When   string // which servers have the metric; "" is all

	// values calls emit with each value and its labels' values, in the order of Labels. Histograms have distributions
	// instead.
	values        func(r *Snapshot, emit func(value float64, labels ...string))
	distributions func(r *Snapshot, emit func(d Distribution, labels ...string))
}

// Distribution is the content of a histogram. Counts[i] is the number of values up to Bounds[i] and above the previous
// bound; the last of Counts has no bound.
type Distribution struct {
	Bounds []time.Duration
	Counts []int64
	Sum    time.Duration

	latencies *Latencies // for native buckets; nil if only the classic buckets are known
}

// distribution sums the cells into classic buckets.
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

// one makes the values of a metric without labels.
func one(value func(r *Snapshot) float64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) { emit(value(r)) }
}

// of makes the value of a metric about a part that not every server has. part returns nil if the server does not have
// it.
func of[Part any](part func(r *Snapshot) *Part) func(func(p *Part) float64) func(*Snapshot, func(float64, ...string)) {
	return func(value func(p *Part) float64) func(*Snapshot, func(float64, ...string)) {
		return func(r *Snapshot, emit func(float64, ...string)) {
			if p := part(r); p != nil {
				emit(value(p))
			}
		}
	}
}

// each makes the values of a metric with the label command.
func each(value func(c *Command) int64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) {
		for i := range r.Commands {
			emit(float64(value(&r.Commands[i])), r.Commands[i].Name)
		}
	}
}

// emitChecks emits the counts of policies or rules, with the labels name and outcome.
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
