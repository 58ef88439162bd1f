package main

import (
	"math"
	"slices"
)

// A Key names a figure.
type Key struct {
	Series string // the server and its command, as Series.ID
	Load   string // the requests, as Cell.ID; "" if they are always the same
	Metric string // one of the metrics below
}

// Figures are the results of a part: a value of each round for every key.
type Figures map[Key][]float64

// The metrics of a Sample, and others that several parts have.
const (
	throughput = "requests/s"
	cpu        = "µs CPU" // of the server, per request
	slept      = "sleeps for 1,000 requests"
	p50        = "p50, ms"
	p99        = "p99, ms"
	granted    = "granted"
	bytesEach  = "bytes for each key"
	gcPause    = "longest GC pause, ms"
	gcCycles   = "GC cycles"
	gcLive     = "largest live heap, MB"
)

func (f Figures) add(series, load, metric string, value float64) {
	k := Key{series, load, metric}
	f[k] = append(f[k], value)
}

// addSample adds the figures that each load has.
func (f Figures) addSample(series, load string, s Sample) {
	for metric, value := range map[string]float64{throughput: s.PerSecond, cpu: s.CPUMicros, slept: s.Sleeps, p50: s.P50ms, p99: s.P99ms} {
		f.add(series, load, metric, value)
	}
}

// last is the value of the latest round, 0 before the first.
func (f Figures) last(k Key) float64 {
	if values := f[k]; len(values) > 0 {
		return values[len(values)-1]
	}
	return 0
}

// of sums up the rounds, by the median if sumUp is nil; NaN when nothing was measured.
func (f Figures) of(k Key, sumUp func([]float64) float64) float64 {
	switch {
	case len(f[k]) == 0:
		return math.NaN()
	case sumUp == nil:
		return median(f[k])
	}
	return sumUp(f[k])
}

// ratio is the median over the rounds of a/b, each quotient taken within one round, so that a slowdown of a whole round
// cancels out. NaN when either was not measured or b is 0.
func (f Figures) ratio(a, b Key) float64 {
	var quotients []float64
	for i := range min(len(f[a]), len(f[b])) {
		if f[b][i] != 0 {
			quotients = append(quotients, f[a][i]/f[b][i])
		}
	}
	return median(quotients)
}

// median of the values that are numbers; NaN when none is.
func median(values []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(sorted) == 0 {
		return math.NaN()
	}
	slices.Sort(sorted)
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// The following need a value at least.

func most(values []float64) float64 { return slices.Max(values) }

func number(values []float64) float64 { return float64(len(values)) }

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}

func countAboveZero(values []float64) float64 {
	return number(slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v <= 0 }))
}

func percentile99(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*99/100]
}
