package netio

import (
	"context"
	"sync"
)

// pendingWakes are the connections of one event loop that are to go on without input, most often because a batch was decided. An
// entry of a cluster's log decides for many connections: together they are one task of the loop, and one wake-up of its thread.
type pendingWakes struct {
	mu    sync.Mutex
	conns []*eventLoopConn
	spare []*eventLoopConn // the list of the turn before
}

// wake has the session go on. Any goroutine may call it.
func (l *eventLoopConn) wake() {
	if l.woken.Swap(true) {
		return // its turn is still to come
	}
	w := l.wakes
	w.mu.Lock()
	w.conns = append(w.conns, l)
	isFirst := len(w.conns) == 1
	w.mu.Unlock()
	if isFirst {
		_ = l.loop.Execute(context.Background(), w) // fails only where the loop is closing its connections
	}
}

// Run implements gnet.Runnable.
func (w *pendingWakes) Run(context.Context) error {
	w.mu.Lock()
	conns := w.conns
	w.conns = w.spare[:0]
	w.mu.Unlock()
	for i, l := range conns {
		conns[i] = nil
		l.woken.Store(false) // what happens from now on is for another turn
		if !l.closed && l.session.ServeInput(nil) {
			_ = l.loop.Close(l.Conn)
		}
	}
	w.spare = conns
	return nil
}
