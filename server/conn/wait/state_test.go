package wait

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Each event keeps a session from executing anything until it has ended, and no other event ends it.
func TestStateTransitions(t *testing.T) {
	all := []Event{ForDecision, ForDueTime, ForAnswer, ForLogin, ForKey, ForPause, ForTurn, ForReader, ForClose}
	for _, e := range all {
		var w State
		if !w.IsOver() || w.Has(e) || w.IsDue(e) {
			t.Fatalf("%b is awaited from the start", e)
		}
		w.Begin(e)
		if w.IsOver() || !w.Has(e) || w.IsDue(e) {
			t.Errorf("%b is not awaited, or due before it happened", e)
		}
		for _, other := range all {
			if other == e {
				continue
			}
			w.Begin(other)
			w.Happen(other)
			if w.IsDue(e) || !w.IsDue(other) {
				t.Errorf("%b has happened, and %b is due", other, e)
			}
			w.End(other)
			if w.IsOver() || !w.Has(e) || w.Has(other) || w.IsDue(other) {
				t.Errorf("the end of %b ended the wait for %b, or did not end its own", other, e)
			}
		}
		w.Happen(e)
		if w.IsOver() || !w.IsDue(e) {
			t.Errorf("%b has happened, but is not due", e)
		}
		w.End(e)
		if w.Begin(e); w.IsDue(e) {
			t.Errorf("%b is due again without having happened again", e)
		}
	}
}

// A decider may finish before Decide has returned, and so before the wait begins.
func TestStateHappensBeforeItBegins(t *testing.T) {
	var w State
	w.Happen(ForDecision)
	if !w.IsOver() || w.IsDue(ForDecision) {
		t.Error("due without being awaited")
	}
	if w.Begin(ForDecision); !w.IsDue(ForDecision) {
		t.Error("the event was forgotten when the wait began")
	}
}

// Of a decision and a hang-up at the same time, exactly one goroutine sees both, and refunds.
func TestStateOneSeesBoth(t *testing.T) {
	for range 1000 {
		var w State
		w.Begin(ForDecision)
		var sawBoth atomic.Int32
		var wg sync.WaitGroup
		for _, order := range [][2]Event{{ForDecision, HangUp}, {HangUp, ForDecision}} {
			wg.Go(func() {
				if w.HappenAfter(order[0], order[1]) {
					sawBoth.Add(1)
				}
			})
		}
		if wg.Wait(); sawBoth.Load() != 1 {
			t.Fatalf("%d saw both", sawBoth.Load())
		}
	}
}
