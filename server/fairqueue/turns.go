package fairqueue

import (
	"slices"
	"sync"
)

// Turns bounds how many goroutines work at a time. Those of one owner wait in line; the owners take turns, so an owner with many goroutines holds up
// another for one turn at most.
type Turns struct {
	mu    sync.Mutex
	free  int
	lines []*line // in the order in which their owners take turns
}

// line is the goroutines of an owner that wait, each until its channel is closed.
type line struct {
	owner   string
	waiting []chan struct{}
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
	i := slices.IndexFunc(t.lines, func(l *line) bool { return l.owner == owner })
	if i < 0 {
		i = len(t.lines)
		t.lines = append(t.lines, &line{owner: owner})
	}
	begun := make(chan struct{})
	t.lines[i].waiting = append(t.lines[i].waiting, begun)
	t.mu.Unlock()
	<-begun
}

// End ends a turn, which goes to the next owner.
func (t *Turns) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		t.free++
		return
	}
	next := t.lines[0]
	close(next.waiting[0])
	next.waiting = next.waiting[1:]
	if t.lines = slices.Delete(t.lines, 0, 1); len(next.waiting) > 0 {
		t.lines = append(t.lines, next)
	}
}
