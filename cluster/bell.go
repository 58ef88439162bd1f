package cluster

import "sync"

// bell tells all who wait that something may have changed.
type bell struct {
	mu  sync.Mutex
	now chan struct{}
}

// rings is closed when the bell rings the next time. Take it before looking at what may change.
func (b *bell) rings() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		b.now = make(chan struct{})
	}
	return b.now
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil {
		close(b.now)
		b.now = nil
	}
}
