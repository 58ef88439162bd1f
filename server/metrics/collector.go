package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Collector exports a server's metrics to Prometheus, by the rows of [Table].
type Collector struct {
	read  func() *Snapshot
	descs []*prometheus.Desc
}

// NewCollector returns a collector that calls read for every scrape.
func NewCollector(read func() *Snapshot) *Collector {
	c := &Collector{read: read}
	for i := range Table {
		c.descs = append(c.descs, prometheus.NewDesc(Table[i].Name, Table[i].Help, Table[i].Labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	reading := c.read()
	for i := range Table {
		row, desc := &Table[i], c.descs[i]
		if row.Kind == Histogram {
			row.distributions(reading, func(d Distribution, labels ...string) {
				out <- &histogramMetric{desc, prometheus.MakeLabelPairs(desc, labels), d}
			})
			continue
		}
		kind := prometheus.GaugeValue
		if row.Kind == Counter {
			kind = prometheus.CounterValue
		}
		row.values(reading, func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
		})
	}
}

// histogramMetric is a histogram with classic buckets and, if they are known, native ones.
type histogramMetric struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	Distribution
}

// Desc implements prometheus.Metric.
func (m *histogramMetric) Desc() *prometheus.Desc { return m.desc }

// Write implements prometheus.Metric.
func (m *histogramMetric) Write(out *dto.Metric) error {
	h := &dto.Histogram{SampleCount: new(uint64(m.count())), SampleSum: new(m.Sum.Seconds())}
	cumulative := int64(0)
	for i, bound := range m.Bounds {
		cumulative += m.Counts[i]
		h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: new(uint64(cumulative)), UpperBound: new(bound.Seconds())})
	}
	if m.latencies != nil {
		m.latencies.writeNative(h)
	}
	out.Label, out.Histogram = m.labels, h
	return nil
}

// writeNative sums the cells into native buckets.
func (l *Latencies) writeNative(h *dto.Histogram) {
	var counts [lastNative - firstNative + 1]int64 // the first is the zero bucket
	for i := range cellBounds {
		counts[cellNative[i]-firstNative] += l.cells[i]
	}
	h.Schema, h.ZeroThreshold, h.ZeroCount = new(int32(nativeSchema)), new(nativeBound(firstNative)), new(uint64(counts[0]))
	span, last, next := (*dto.BucketSpan)(nil), int64(0), int32(0)
	for i, n := range counts[1:] {
		if n == 0 {
			span = nil
			continue
		}
		bucket := int32(firstNative + 1 + i)
		if span == nil {
			span = &dto.BucketSpan{Offset: new(bucket - next), Length: new(uint32(0))}
			h.PositiveSpan = append(h.PositiveSpan, span)
		}
		*span.Length++
		next = bucket + 1
		h.PositiveDelta = append(h.PositiveDelta, n-last)
		last = n
	}
	if len(h.PositiveSpan) == 0 { // marks an empty histogram as native
		h.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
}

// Sample is one value of a metric for the admin page. A histogram has count, sum and quantiles.
type Sample struct {
	Labels map[string]string `json:"labels,omitempty"`
	Value  float64           `json:"value"`

	Count int64   `json:"count,omitempty"`
	P50   float64 `json:"p50,omitempty"`
	P99   float64 `json:"p99,omitempty"`
	P999  float64 `json:"p999,omitempty"`
}

// Samples returns the values of every row of [Table] by the metrics' names.
func Samples(r *Snapshot) map[string][]Sample {
	samples := map[string][]Sample{}
	for i := range Table {
		row := &Table[i]
		add := func(s Sample, values []string) {
			for j, label := range row.Labels {
				if s.Labels == nil {
					s.Labels = map[string]string{}
				}
				s.Labels[label] = values[j]
			}
			samples[row.Name] = append(samples[row.Name], s)
		}
		if row.Kind != Histogram {
			row.values(r, func(value float64, labels ...string) { add(Sample{Value: value}, slices.Clone(labels)) })
			continue
		}
		row.distributions(r, func(d Distribution, labels ...string) {
			s := Sample{Value: d.Sum.Seconds(), Count: d.count()}
			if d.latencies != nil {
				s.P50, s.P99, s.P999 = d.quantile(0.5), d.quantile(0.99), d.quantile(0.999)
			}
			add(s, slices.Clone(labels))
		})
	}
	return samples
}

func (d *Distribution) quantile(q float64) float64 {
	return time.Duration(d.latencies.Quantile(q)).Seconds()
}
