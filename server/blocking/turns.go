package blocking

import (
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
)

// Turns lets the clients of a whole cluster take from keys in the order in which they came. The leader has them: for
// each key and node, it knows which client has waited there longest. They are not part of the replicated state: a new
// leader learns of the clients as they attempt again, and until then none of them takes. A node that does not take in
// its turn, because the node or its client is gone, holds up others no longer than patience.
type Turns struct {
	patience time.Duration

	mu    sync.Mutex
	since int64 // this node leads
	byKey map[string][]claim
	count int
	taken map[taker]int64 // the arrivals of clients that have had their turn, until it is known whether they got something
}

// taker is an attempt that had its turn at a key.
type taker struct{ key, words string }

func takerOf(key []byte, op *engine.Op) taker {
	return taker{string(key), string(op.Args[len(op.Args)-1])}
}

// maxClaims bounds the memory of a leader. Beyond it, all claims are forgotten, and order is kept from there on.
const maxClaims = 1 << 16

// restateTime is the time beyond patience in which the clients of all nodes attempt at a new leader.
const restateTime = 200 * time.Millisecond

// NewTurns returns the turns of a node that has not led yet. Within patience, a node follows the leader, and its client
// attempts.
func NewTurns(patience time.Duration) *Turns {
	return &Turns{patience: patience, byKey: map[string][]claim{}, taken: map[taker]int64{}}
}

// Begin notes that this node leads from now on.
func (t *Turns) Begin(now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = now
	t.forget()
}

func (t *Turns) forget() {
	clear(t.byKey)
	clear(t.taken)
	t.count = 0
}

// IsAttempt reports whether an operation is an attempt of a client that may wait.
func (t *Turns) IsAttempt(op *engine.Op) bool { return isAttempt(op) }

// Attempt notes the claims of an attempt.
func (t *Turns) Attempt(now int64, op *engine.Op) {
	keys, claims := readClaims(now, op)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, key := range keys {
		t.note(string(key), claims[i])
	}
}

// sameArrival is the most by which the arrivals that a node states for one client differ, because its messages take
// some time.
const sameArrival = int64(20 * time.Millisecond)

func (t *Turns) note(key string, c claim) {
	all := t.byKey[key]
	at := t.claimOf(key, c.node)
	switch {
	case at < 0 && t.count == maxClaims:
		t.forget()
		t.note(key, c)
	case at < 0:
		t.byKey[key] = append(all, c)
		t.count++
	default:
		if before := all[at].arrived; c.arrived > before && c.arrived-before < sameArrival {
			c.arrived = before
		}
		all[at] = c
	}
}

// MayTake reports whether an operation may take something: it is no attempt, or its client came first. Then the next
// client of the node takes its place in the line.
func (t *Turns) MayTake(now int64, op *engine.Op) bool {
	keys, claims := readClaims(now, op)
	if keys == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now-t.since < int64(t.patience+restateTime) {
		return false
	}
	for i, key := range keys {
		if !t.isFirst(now, string(key), claims[i].node, len(keys) == 1) {
			return false
		}
	}
	if len(t.taken) >= maxClaims {
		clear(t.taken)
	}
	for i, key := range keys {
		c := claims[i]
		t.taken[takerOf(key, op)] = t.arrivedOf(string(key), c)
		if c.arrived = c.next; c.next == none {
			t.drop(string(key), func(known claim) bool { return known.node == c.node })
			continue
		}
		t.note(string(key), c)
	}
	return true
}

// arrivedOf is the arrival of a claim's client, by the earliest statement about it.
func (t *Turns) arrivedOf(key string, c claim) int64 {
	if at := t.claimOf(key, c.node); at >= 0 {
		return min(t.byKey[key][at].arrived, c.arrived)
	}
	return c.arrived
}

// claimOf is the place of a node's claim on a key, or -1.
func (t *Turns) claimOf(key, node string) int {
	return slices.IndexFunc(t.byKey[key], func(c claim) bool { return c.node == node })
}

// Taken notes the outcome of an attempt that had its turn. If it got nothing, because an attempt of another client was
// under way, its client has the turn again.
func (t *Turns) Taken(op *engine.Op, got bool) {
	keys, claims := readClaims(0, op)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, key := range keys {
		who, node := takerOf(key, op), claims[i].node
		arrived, had := t.taken[who]
		delete(t.taken, who)
		if !had || got {
			continue
		}
		all := t.byKey[who.key]
		if at := t.claimOf(who.key, node); at < 0 {
			t.note(who.key, claim{node: node, arrived: arrived, next: none})
		} else if arrived < all[at].arrived {
			all[at].arrived, all[at].challenged = arrived, 0
		}
	}
}

// isFirst reports whether no client of another node came to a key before the client of this node. With challenge,
// another client loses its place once it has held this one up for long enough: it is known that there is something to
// take.
func (t *Turns) isFirst(now int64, key, node string, challenge bool) bool {
	all := t.byKey[key]
	own := t.claimOf(key, node)
	if own < 0 {
		return true
	}
	arrived, first := all[own].arrived, true
	for i := range all {
		if c := &all[i]; c.arrived < arrived {
			first = false
			if !challenge {
				continue
			}
			if c.challenged == 0 || now-c.again > askedAgain {
				c.challenged = now // by the first of a row of attempts
			}
			c.again = now
		}
	}
	if first || !challenge {
		return first
	}
	before := len(all)
	t.drop(key, func(c claim) bool { return c.arrived < arrived && now-c.challenged >= int64(t.patience) })
	return len(t.byKey[key]) < before && t.isFirst(now, key, node, false)
}

// askedAgain is more than the time between two attempts of a client while there is an element.
const askedAgain = int64(300 * time.Millisecond)

func (t *Turns) drop(key string, is func(claim) bool) {
	all := t.byKey[key]
	before := len(all)
	if all = slices.DeleteFunc(all, is); len(all) == 0 {
		delete(t.byKey, key)
	} else {
		t.byKey[key] = all
	}
	t.count -= before - len(all)
}
