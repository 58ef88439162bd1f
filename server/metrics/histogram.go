package metrics

import "sync/atomic"

// histogram counts latencies.
type histogram struct {
	sum   atomic.Int64 // nanoseconds
	cells [maxCells]atomic.Int64
}

func (h *histogram) add(nanos, times int64) {
	h.cells[cellOf(nanos)].Add(times)
	h.sum.Add(nanos * times)
}

// Latencies are latencies counted up to one instant.
type Latencies struct {
	Count    int64
	SumNanos int64
	cells    [maxCells]int64
}

func (l *Latencies) add(h *histogram) {
	for i := range cellBounds {
		n := h.cells[i].Load()
		l.cells[i] += n
		l.Count += n
	}
	l.SumNanos += h.sum.Load()
}

// Merge adds the latencies of another.
func (l *Latencies) Merge(other *Latencies) {
	for i, n := range other.cells {
		l.cells[i] += n
	}
	l.Count += other.Count
	l.SumNanos += other.SumNanos
}

// Since returns the latencies less those of an earlier instant.
func (l Latencies) Since(earlier *Latencies) Latencies {
	for i, n := range earlier.cells {
		l.cells[i] -= n
	}
	l.Count -= earlier.Count
	l.SumNanos -= earlier.SumNanos
	return l
}

// AtMost is the number of latencies up to the given nanoseconds. It is exact for the bounds of buckets, otherwise those
// of the bucket in which nanos lies are all in.
func (l *Latencies) AtMost(nanos int64) (count int64) {
	for i := range cellOf(nanos) + 1 {
		count += l.cells[i]
	}
	return count
}

// Quantile is a latency in nanoseconds that the given part of all does not exceed, 0 to 1: the upper bound of a bucket
// of 9 % width; 0 without any.
func (l *Latencies) Quantile(q float64) int64 {
	rank, count := int64(q*float64(l.Count)), int64(0)
	for i, n := range l.cells {
		if count += n; count > rank || count == l.Count && count > 0 {
			return cellBounds[i]
		}
	}
	return 0
}
