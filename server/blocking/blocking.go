// Package blocking has the clients of this process that wait for keys to get elements, those of each key in the order of their
// arrival. It wakes them and takes nothing itself.
package blocking

import (
	"crypto/rand"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// Keys are the keys that clients wait for. The zero value, after Start, has none. Its methods may be called from any goroutine.
type Keys struct {
	begin, end func()

	node  string // a name of this process among those of a cluster
	seed  maphash.Seed
	marks [numMarks]atomic.Int32 // turns by the hash of the key: of most keys that change nobody waits for any

	mu      sync.Mutex
	byKey   map[string][]turn // in the order of arrival; the first may take
	waiters int
}

const numMarks = 4096

// turn is a waiter's place in the line of one of its keys.
type turn struct {
	of    *Waiter
	place int // of the key in the waiter's list
}

// End says why a client waits no longer.
type End uint8

// The ends.
const (
	Waiting   End = iota // it goes on
	TimedOut             // its time has passed, or CLIENT UNBLOCK says so
	Unblocked            // CLIENT UNBLOCK with ERROR
)

// Waiter is a client that waits. It looks at a key only when Next says so: it is the first in the line of the key then. Keys.mu guards
// its fields, but for the constant ones.
type Waiter struct {
	of      *Keys
	keys    []string // each once; constant
	arrived int64    // constant
	wake    func()   // constant

	ready   []bool // of keys: it is its turn, and the key may have got something since it looked
	restate bool   // the leader is another one, which does not know that this client waits
	idle    bool   // it has looked everywhere, and will be woken
	end     End
	gone    bool
}

// Start makes the keys ready for use. begin is called when the first client begins to wait, and end when none is left: between the two,
// Changed must be called with each key that changes.
func (k *Keys) Start(begin, end func()) {
	k.begin, k.end, k.seed, k.byKey, k.node = begin, end, maphash.MakeSeed(), map[string][]turn{}, rand.Text()
}

func (k *Keys) mark(key string) *atomic.Int32 {
	return &k.marks[maphash.String(k.seed, key)%numMarks]
}

// Add has a client wait for keys from now on, behind those that wait already. wake is called, without delay and from any goroutine, when there
// is something for Next to return; until then, the client is taken to be busy with its first look.
func (k *Keys) Add(now int64, keys [][]byte, wake func()) *Waiter {
	w := &Waiter{of: k, arrived: now, wake: wake}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiters++; k.waiters == 1 {
		k.begin()
	}
	for _, key := range keys {
		name := string(key)
		line := k.byKey[name]
		if len(line) > 0 && line[len(line)-1].of == w {
			continue // the same key again
		}
		w.keys, w.ready = append(w.keys, name), append(w.ready, len(line) == 0)
		k.byKey[name] = append(line, turn{w, len(w.keys) - 1})
		k.mark(name).Add(1)
	}
	return w
}

// Changed notes that a key has changed, nil for all keys, and wakes the client that waits for it longest. It does not wait.
func (k *Keys) Changed(key []byte) {
	if key != nil && k.marks[maphash.Bytes(k.seed, key)%numMarks].Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key != nil {
		k.callFirst(string(key))
		return
	}
	for name := range k.byKey {
		k.callFirst(name)
	}
}

// Restate has the first client in each line make an attempt, because another node leads now.
func (k *Keys) Restate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, line := range k.byKey {
		line[0].of.restate = true
		k.callFirst(name)
	}
}

// callFirst has the first in the line of a key look at it.
func (k *Keys) callFirst(key string) {
	if line := k.byKey[key]; len(line) > 0 {
		first := line[0]
		first.of.ready[first.place] = true
		first.of.rouse()
	}
}

// rouse wakes a waiter that has nothing to do.
func (w *Waiter) rouse() {
	if w.idle {
		w.idle = false
		w.wake()
	}
}

// Len is the number of clients that wait.
func (k *Keys) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.waiters
}

// Next returns a key to look at, the first in the client's order whose turn it is, or why the client waits no longer. Without
// either, ok is false, and the client is woken when there is. With restate, an attempt is due also if there is nothing.
func (w *Waiter) Next() (key string, restate bool, end End, ok bool) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.end != Waiting {
		return "", false, w.end, false
	}
	if i := slices.Index(w.ready, true); i >= 0 {
		w.ready[i] = false
		return w.keys[i], w.restate, Waiting, true
	}
	w.idle, w.restate = true, false
	return "", false, Waiting, false
}

// Turns returns the keys that it is the client's turn to look at, in its order, as Next would one after the other.
func (w *Waiter) Turns() (keys []string) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	for i, ready := range w.ready {
		if ready {
			w.ready[i] = false
			keys = append(keys, w.keys[i])
		}
	}
	return keys
}

// Again has Next return keys that it returned before, if it is still the client's turn.
func (w *Waiter) Again(keys ...string) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.gone {
		return
	}
	for _, key := range keys {
		if first := w.of.byKey[key][0]; first.of == w {
			w.ready[first.place] = true
			w.rouse()
		}
	}
}

// Finish ends the wait for another reason than that a key has something. It reports false if it had ended before.
func (w *Waiter) Finish(end End) bool {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.gone || w.end != Waiting {
		return false
	}
	w.end = end
	w.rouse()
	return true
}

// Leave takes a client out of all lines: it was served, has given up or hung up. Those behind it have their turn.
func (w *Waiter) Leave() {
	k := w.of
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.gone {
		return
	}
	w.gone, w.idle = true, false
	for i, key := range w.keys {
		line := k.byKey[key]
		at := slices.Index(line, turn{w, i})
		if line = slices.Delete(line, at, at+1); len(line) == 0 {
			delete(k.byKey, key)
		} else if k.byKey[key] = line; at == 0 {
			k.callFirst(key)
		}
		k.mark(key).Add(-1)
	}
	if k.waiters--; k.waiters == 0 {
		k.end()
	}
}

// Memory, about.
const (
	waiterBytes = 160
	turnBytes   = 128 // with the entry of the key
)

// Bytes is the memory of a client's wait.
func (w *Waiter) Bytes() int {
	n := waiterBytes
	for _, key := range w.keys {
		n += turnBytes + 2*len(key)
	}
	return n
}
