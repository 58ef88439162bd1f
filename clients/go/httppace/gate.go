package httppace

import (
	"sync"
	"time"
)

// Bounds of what a Transport remembers.
const (
	maxGates = 10_000
	maxPause = 24 * time.Hour // whatever the other side says
)

// A gate is where the requests of one key line up. It stays closed for as long as the other side asks for.
type gate struct {
	key  string
	turn chan struct{} // held by the first in line while it asks when it may go

	mu    sync.Mutex
	until time.Time
}

func (g *gate) closedUntil() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

func (g *gate) close(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if latest := time.Now().Add(maxPause); until.After(latest) {
		until = latest
	}
	if until.After(g.until) {
		g.until = until
	}
}

// gate finds or makes the gate of a key. When there are too many, all that are open and have nobody in line are
// forgotten, which loses nothing; if none is, the one who asks gets a gate of its own.
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
