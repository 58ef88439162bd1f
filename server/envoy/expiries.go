package envoy

import (
	"sync"
	"time"
)

// maxHeldBytes limits the reservations whose expiry this server waits for, to about 16,000. Further reservations stay
// taken if nobody commits them.
const (
	maxHeldBytes = 8 << 20
	heldBytes    = 448 // the overhead of one reservation, including its timer
)

// expiries calls a function when a reservation expires, unless it ended before.
type expiries struct {
	mu    sync.Mutex
	byID  map[string]expiry
	bytes int
	over  bool // nothing more is added
}

type expiry struct {
	timer *time.Timer
	bytes int
}

// add calls end after a duration, unless the id is removed before. bytes is the memory that end uses.
func (e *expiries) add(id string, bytes int, after time.Duration, end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bytes += heldBytes
	if e.over || e.bytes+bytes > maxHeldBytes {
		return
	}
	if e.byID == nil {
		e.byID = map[string]expiry{}
	}
	e.bytes += bytes
	e.byID[id] = expiry{bytes: bytes, timer: time.AfterFunc(after, func() {
		if e.remove(id) {
			end()
		}
	})}
}

// remove reports whether the id was still there.
func (e *expiries) remove(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	of, is := e.byID[id]
	if is {
		of.timer.Stop()
		e.bytes -= of.bytes
		delete(e.byID, id)
	}
	return is
}

// stop forgets all reservations.
func (e *expiries) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, of := range e.byID {
		of.timer.Stop()
	}
	e.byID, e.bytes, e.over = nil, 0, true
}
