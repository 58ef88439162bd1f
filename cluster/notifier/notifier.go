// Package notifier wakes goroutines after a change, so that they need not poll for it.
package notifier

import (
	"context"
	"sync"
	"time"
)

// Notifier wakes all waiting goroutines after a change. Its zero value is ready to use. A broadcast that nobody waits
// for allocates nothing.
type Notifier struct {
	mu     sync.Mutex
	next   chan struct{}
	called []func()
}

// Call calls f now, and again in each later broadcast, which waits for f.
func (n *Notifier) Call(f func()) {
	n.mu.Lock()
	n.called = append(n.called, f)
	n.mu.Unlock()
	f()
}

// Wait returns a channel that the next broadcast closes. Call it before reading the state that may change.
func (n *Notifier) Wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// Broadcast wakes all goroutines that wait.
func (n *Notifier) Broadcast() {
	n.mu.Lock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
	called := n.called
	n.mu.Unlock()
	for _, f := range called {
		f()
	}
}

// Pause sleeps for a time, or until changed is closed or ctx is done. A nil channel never is.
func Pause(ctx context.Context, changed <-chan struct{}, d time.Duration) {
	select {
	case <-changed:
	case <-ctx.Done():
	case <-time.After(d):
	}
}
