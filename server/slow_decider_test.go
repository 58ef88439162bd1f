package server

import (
	"sync"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/decider"
)

// laterLocal is a Decider that finishes later, on another goroutine, like one that asks other nodes. Like those it
// copies the keys and does not look at them again.
type laterLocal struct {
	*decider.Local
	mu        sync.Mutex
	finishing sync.Mutex
	pending   []func()
	alone     bool // finish without the test
}

// Decide implements Decider; it never finishes at once.
func (l *laterLocal) Decide(b *engine.Batch) bool {
	copied := engine.Batch{Ops: make([]engine.Op, len(b.Ops)), Results: make([]engine.Result, len(b.Ops)), Atomic: b.Atomic}
	for i, op := range b.Ops {
		copied.Ops[i] = op.Clone()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alone {
		defer func() { go l.finish() }()
	}
	l.pending = append(l.pending, func() {
		l.Local.Decide(&copied)
		copy(b.Results, copied.Results)
		b.Done()
	})
	return false
}

// finish decides everything pending, in order, and reports whether there was anything.
func (l *laterLocal) finish() bool {
	l.mu.Lock()
	pending := l.pending
	l.pending = nil
	l.finishing.Lock() // so that batches are decided in the order they came
	defer l.finishing.Unlock()
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, decide := range pending {
			decide()
		}
	}()
	<-done
	return len(pending) > 0
}
