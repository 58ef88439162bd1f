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

// Latencies are latencies counted up to an instant.
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

// Merge adds other latencies.
func (l *Latencies) Merge(other *Latencies) {
	for i, n := range other.cells {
		l.cells[i] += n
	}
	l.Count += other.Count
	l.SumNanos += other.SumNanos
}

// Since returns the latencies counted since an earlier instant.
func (l Latencies) Since(earlier *Latencies) Latencies {
	for i, n := range earlier.cells {
		l.cells[i] -= n
	}
	l.Count -= earlier.Count
	l.SumNanos -= earlier.SumNanos
	return l
}

// AtMost returns the number of latencies up to nanos. It is exact if nanos is the bound of a bucket; otherwise it
// includes the whole bucket.
func (l *Latencies) AtMost(nanos int64) (count int64) {
	for i := range cellOf(nanos) + 1 {
		count += l.cells[i]
	}
	return count
}

// Quantile returns the latency in nanoseconds at quantile q, from 0 to 1: the upper bound of a bucket that is 9 % wide.
// It is 0 if there are no latencies.
func (l *Latencies) Quantile(q float64) int64 {
	rank, count := int64(q*float64(l.Count)), int64(0)
	for i, n := range l.cells {
		if count += n; count > rank || count == l.Count && count > 0 {
			return cellBounds[i]
		}
	}
	return 0
}
