package loans

import (
	"slices"
	"testing"
)

// An operation that follows another of its key does not keep the operations of other keys from their turn.
func TestLinesTakeTurns(t *testing.T) {
	var (
		l     lines
		order []string
		run   func()
		id    = lineID{home: make(Turns, 1)}
	)
	start := func(f func()) bool { run = f; return true }
	busy := func() bool {
		order = append(order, "busy")
		return len(order) < 4
	}
	once := func() bool {
		order = append(order, "once")
		return false
	}
	for _, f := range []operation{busy, once} {
		if !l.begin(id, start, f) {
			t.Fatal("it was not begun")
		}
	}
	run()
	if want := []string{"busy", "once", "busy", "busy"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
	if len(l.lines) > 0 {
		t.Errorf("%d lines are left", len(l.lines))
	}
}
