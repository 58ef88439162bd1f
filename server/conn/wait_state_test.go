package conn

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Each event keeps a session from executing anything until it has ended, and no other event ends it.
func TestWaitStateTransitions(t *testing.T) {
	all := []WaitEvent{ForDecision, ForDueTime, ForAnswer, ForLogin, ForKey, ForTurn, ForReader, ForClose}
	for _, e := range all {
		var w waitState
		if !w.isOver() || w.has(e) || w.isDue(e) {
			t.Fatalf("%b is awaited from the start", e)
		}
		w.begin(e)
		if w.isOver() || !w.has(e) || w.isDue(e) {
			t.Errorf("%b is not awaited, or due before it happened", e)
		}
		for _, other := range all {
			if other == e {
				continue
			}
			w.begin(other)
			w.happen(other)
			if w.isDue(e) || !w.isDue(other) {
				t.Errorf("%b has happened, and %b is due", other, e)
			}
			w.end(other)
			if w.isOver() || !w.has(e) || w.has(other) || w.isDue(other) {
				t.Errorf("the end of %b ended the wait for %b, or did not end its own", other, e)
			}
		}
		w.happen(e)
		if w.isOver() || !w.isDue(e) {
			t.Errorf("%b has happened, but is not due", e)
		}
		w.end(e)
		if w.begin(e); w.isDue(e) {
			t.Errorf("%b is due again without having happened again", e)
		}
	}
}

// A decider may finish before Decide has returned, and so before the wait begins.
func TestWaitStateHappensBeforeItBegins(t *testing.T) {
	var w waitState
	w.happen(ForDecision)
	if !w.isOver() || w.isDue(ForDecision) {
		t.Error("due without being awaited")
	}
	if w.begin(ForDecision); !w.isDue(ForDecision) {
		t.Error("the event was forgotten when the wait began")
	}
}

// Of a decision and a hang-up at the same time, exactly one goroutine sees both, and refunds.
func TestWaitStateOneSeesBoth(t *testing.T) {
	for range 1000 {
		var w waitState
		w.begin(ForDecision)
		var sawBoth atomic.Int32
		var wg sync.WaitGroup
		for _, order := range [][2]WaitEvent{{ForDecision, hangUp}, {hangUp, ForDecision}} {
			wg.Go(func() {
				if w.happenAfter(order[0], order[1]) {
					sawBoth.Add(1)
				}
			})
		}
		if wg.Wait(); sawBoth.Load() != 1 {
			t.Fatalf("%d saw both", sawBoth.Load())
		}
	}
}
