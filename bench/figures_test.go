package main

import (
	"math"
	"testing"
	"time"
)

var nan = math.NaN()

func TestMedian(t *testing.T) {
	for _, step := range []struct {
		values []float64
		want   float64
	}{
		{nil, nan},
		{[]float64{nan}, nan},
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{nan, 3, nan, 1}, 2},
	} {
		if got := median(step.values); !same(got, step.want) {
			t.Errorf("median(%v) = %v, want %v", step.values, got, step.want)
		}
	}
	values := []float64{3, 1, 2}
	median(values)
	if values[0] != 3 {
		t.Errorf("median reordered its argument to %v", values)
	}
}

// A round that is slow for everybody must not move the ratio. The quotient of
// the medians would be 2 here.
func TestRatioIsTakenWithinRounds(t *testing.T) {
	at := func(series, metric string) Key { return Key{series, "many P=1", metric} }
	f := Figures{at("a", throughput): {30, 300, 90}, at("b", throughput): {10, 100, 45}, at("b", p50): {0, 0, 0}, at("a", p50): {1, 1, 1}}
	if got := f.ratio(at("a", throughput), at("b", throughput)); got != 3 {
		t.Errorf("ratio %v, want 3", got)
	}
	if got := f.ratio(at("a", throughput), at("c", throughput)); !math.IsNaN(got) {
		t.Errorf("ratio to a figure that was not measured: %v, want NaN", got)
	}
	if got := f.ratio(at("a", p50), at("b", p50)); !math.IsNaN(got) {
		t.Errorf("ratio to zero: %v, want NaN", got)
	}
}

func TestVerdict(t *testing.T) {
	for _, step := range []struct {
		value, bound float64
		atMost       bool
		why          string
		want         string
	}{
		{2.2, 2.2, false, "", "met"},
		{1.1, 2.2, false, "", "50 % below; the cause is not known"},
		{64, 64, true, "", "met"},
		{65, 64, true, "tables grow", "2 % above: tables grow"},
		{nan, 64, true, "", "not measured"},
		{5, nan, true, "", "not judged"},
	} {
		o := Outcome{Target{Bound: step.bound, AtMost: step.atMost, Why: step.why}, step.value}
		if got := o.Verdict(); got != step.want {
			t.Errorf("%v against %v: %s, want %s", step.value, step.bound, got, step.want)
		}
	}
}

func TestRequestsFor(t *testing.T) {
	for _, step := range []struct {
		perSecond float64
		d         time.Duration
		pipeline  int
		want      int
	}{
		{100_000, 2 * time.Second, 1, 200_000},
		{1_000_000, time.Second, 64, 1_001_600}, // 313 turns of 3200
		{10, time.Second, 1, minTurns * connections},
	} {
		if got := requestsFor(step.perSecond, step.d, connections, step.pipeline); got != step.want {
			t.Errorf("requestsFor(%v, %s, %d) = %d, want %d", step.perSecond, step.d, step.pipeline, got, step.want)
		}
	}
}

func TestOfRounds(t *testing.T) {
	values := []float64{1, 0, 3}
	if most(values) != 3 || sum(values) != 4 || number(values) != 3 || countAboveZero(values) != 2 || percentile99(values) != 3 {
		t.Errorf("most %v, sum %v", most(values), sum(values))
	}
	if got := (Figures{}).of(Key{}, most); !math.IsNaN(got) {
		t.Errorf("the most of nothing is %v, want NaN", got)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
