package main

import (
	"slices"
	"testing"
	"time"
)

func TestHotFailoverTable(t *testing.T) {
	f := Figures{}
	f.addHot(hotOutcome{before: time.Millisecond, after: 30 * time.Millisecond, denied: 1})
	f.addHot(hotOutcome{before: 3 * time.Millisecond, after: 10 * time.Millisecond, failed: 2})
	f.addHot(hotOutcome{before: 2 * time.Millisecond, after: 20 * time.Millisecond})
	got := hotFailoverTables(Env{}, f)[0].Rows
	if want := []string{"Stint, three nodes", "3", "20.0", "30.0", "2.00", "3.00", "1", "2"}; len(got) != 1 || !slices.Equal(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFailoverTable(t *testing.T) {
	f := Figures{}
	kinds := clusterKinds(Env{})
	for _, n := range []float64{0, 7, 5} {
		f.add(kinds[1].title, "", beyond, n)
		f.add(kinds[1].title, "", silence, 2+n/10)
	}
	got := failoverTables(Env{}, f)[0].Rows
	if want := []string{kinds[1].title, "3", "12", "2", "7", "2.50", "2.70", "2.70"}; len(got) != 1 || !slices.Equal(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A time without grants that has not ended counts, and the next measurement has none of it.
func TestWatch(t *testing.T) {
	w := &watch{last: time.Now().Add(-time.Minute)}
	if got := w.restart(); got < time.Minute {
		t.Error(got)
	}
	w.last = time.Now().Add(-time.Hour)
	w.grant()
	if got := w.restart(); got < time.Hour {
		t.Error(got)
	}
	if got := w.restart(); got > time.Hour {
		t.Errorf("%s: a measurement has the time of the one before", got)
	}
}
