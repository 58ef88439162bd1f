package httppace

import (
	"sync"
	"time"
)

// maxGates bounds a Transport's memory.
const maxGates = 10_000

// A gate is the queue of the requests of one key. It stays closed for the time that a response asked for.
type gate struct {
	key  string
	turn chan struct{} // held by the first in line while it reserves its time

	mu    sync.Mutex
	until time.Time
	left  int64 // tokens of the limit, as Stint said at the last turn
	news  news
}

func (g *gate) closedUntil() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

func (g *gate) close(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.until) {
		g.until = until
	}
}

func (g *gate) told(left int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = left
}

// believes reports whether the limit has more tokens than the service, and notes that it will not.
func (g *gate) believes(remaining int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if remaining >= g.left {
		return false
	}
	g.left = remaining
	return true
}

// gate returns the gate of a key and makes it if necessary. When there are too many, it deletes all that are open and
// have an empty queue, which loses no state. If none is, the caller gets a separate gate.
func (t *Transport) gate(key string) *gate {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.gates[key]; g != nil {
		return g
	}
	g := &gate{key: key, turn: make(chan struct{}, 1)}
	if len(t.gates) >= maxGates {
		for key, g := range t.gates {
			if len(g.turn) == 0 && !g.closedUntil().After(time.Now()) {
				delete(t.gates, key)
			}
		}
	}
	if len(t.gates) < maxGates {
		if t.gates == nil {
			t.gates = map[string]*gate{}
		}
		t.gates[key] = g
	}
	return g
}
