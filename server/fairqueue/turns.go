package fairqueue

import (
	"sync"
)

// Turns bounds how many goroutines work at a time. Those of one owner wait in line; the owners take turns, so an owner
// with many goroutines holds up another for one turn at most.
type Turns struct {
	mu     sync.Mutex
	free   int
	owners owners[chan struct{}] // of goroutines that wait, each until its channel is closed
}

// NewTurns returns turns of which most are taken at a time.
func NewTurns(most int) *Turns { return &Turns{free: most} }

// TryBegin begins a turn unless others have to end first.
func (t *Turns) TryBegin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free == 0 {
		return false
	}
	t.free--
	return true
}

// Begin waits for a turn and begins it.
func (t *Turns) Begin(owner string) {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return
	}
	begun := make(chan struct{})
	t.owners.add(owner, begun, 0)
	t.mu.Unlock()
	<-begun
}

// End ends a turn, which goes to the next owner.
func (t *Turns) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.owners) == 0 {
		t.free++
		return
	}
	next := t.owners[0]
	close(next.take())
	if t.owners.remove(next); len(next.waiting) > 0 {
		t.owners = append(t.owners, next)
	}
}
