package main

import (
	"errors"
	"testing"
	"time"
)

func TestHotRow(t *testing.T) {
	got := hotRow([]hotOutcome{
		{before: time.Millisecond, after: 30 * time.Millisecond, denied: 1},
		{before: 3 * time.Millisecond, after: 10 * time.Millisecond, failed: 2},
		{before: 2 * time.Millisecond, after: 20 * time.Millisecond},
	})
	if want := "| 3 | 20.0 | 30.0 | 2.0 | 3.0 | 1 | 2 |"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A time without grants that has not ended counts, and denials and errors do not end one.
func TestWatch(t *testing.T) {
	w := &watch{last: time.Now().Add(-time.Minute)}
	w.answered(false, nil)
	w.answered(false, errors.New("hung up"))
	if got := w.restart(); got < time.Minute || w.denied != 1 || w.failed != 1 {
		t.Errorf("%s, %+v", got, w.hotOutcome)
	}
	w.last = time.Now().Add(-time.Hour)
	w.answered(true, nil)
	if got := w.restart(); got < time.Hour || w.granted != 1 {
		t.Errorf("%s, %+v", got, w.hotOutcome)
	}
	if got := w.restart(); got > time.Hour {
		t.Errorf("%s: a measurement has the time of the one before", got)
	}
}
