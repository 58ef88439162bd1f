package envoy

import (
	"sync"
	"time"
)

// maxHeld bounds the reservations whose end this server waits for. Reservations beyond it stay taken if nobody commits them.
const maxHeld = 16 << 10

// expiries calls functions when the time of a reservation is over, if it has not ended before.
type expiries struct {
	mu   sync.Mutex
	byID map[string]*time.Timer
	over bool // no more begin
}

// add calls end after a duration, unless the id is removed before.
func (e *expiries) add(id string, after time.Duration, end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over || len(e.byID) >= maxHeld {
		return
	}
	if e.byID == nil {
		e.byID = map[string]*time.Timer{}
	}
	e.byID[id] = time.AfterFunc(after, func() {
		if e.remove(id) {
			end()
		}
	})
}

// remove reports whether the id was there.
func (e *expiries) remove(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, is := e.byID[id]
	if is {
		t.Stop()
		delete(e.byID, id)
	}
	return is
}

// stop forgets all.
func (e *expiries) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.byID {
		t.Stop()
	}
	e.byID, e.over = nil, true
}
