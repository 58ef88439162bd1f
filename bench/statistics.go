package main

import (
	"math"
	"slices"
)

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

// A metric takes one figure from a sample.
type metric func(Sample) float64

func throughput(s Sample) float64 { return s.PerSecond }
func p50(s Sample) float64        { return s.P50ms }
func p99(s Sample) float64        { return s.P99ms }
func cpu(s Sample) float64        { return s.CPUMicros }
func perCore(s Sample) float64    { return 1e6 / s.CPUMicros }

// median of a cell over the rounds; NaN when it was not measured.
func (r Results) median(m metric, c Cell) float64 {
	values := make([]float64, 0, len(r[c]))
	for _, s := range r[c] {
		values = append(values, m(s))
	}
	return median(values)
}

// ratio is the median over the rounds of a/b, each quotient taken within one round, so that a slowdown of a whole round
// cancels out. NaN when either cell was not measured or b is 0.
func (r Results) ratio(m metric, a, b Cell) float64 {
	return ratioOf(each(r[a], m), each(r[b], m))
}

// ratioOf is the median of the quotients of figures that were taken in the same round.
func ratioOf(a, b []float64) float64 {
	var quotients []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			quotients = append(quotients, a[i]/b[i])
		}
	}
	return median(quotients)
}
