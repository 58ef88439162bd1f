package netio

import "testing"

// Connections that are woken together are one task of their loop, each once, until their turn has come.
func TestWakesAreOneTask(t *testing.T) {
	loop, _, conns := newFakeLoop(3)
	for _, l := range conns {
		l.closed = true // only the tasks of the loop are of interest here
	}
	for range 3 {
		for _, l := range append(conns, conns[0]) {
			l.wake()
		}
		if len(loop.tasks) != 1 || len(conns[0].wakes.conns) != len(conns) {
			t.Fatalf("%d tasks, %d connections", len(loop.tasks), len(conns[0].wakes.conns))
		}
		loop.endTurn(t)
	}
}
