// Package blocking keeps the clients of this process that wait for keys to get elements, or for places among the leases
// of keys. The clients of each key are in a line, in the order of their arrival. The package wakes them, and takes
// nothing itself.
package blocking

import (
	"crypto/rand"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Keys are the keys that clients wait for. The zero value, after Start, has none. Its methods may be called from any
// goroutine.
type Keys struct {
	begin, end func()

	node string // a name of this process among those of a cluster
	seed maphash.Seed
	// The number of turns, by the hash of the key. Nobody waits for most keys that change, and Changed need not lock
	// for these.
	marks [numMarks]atomic.Int32

	mu      sync.Mutex
	lines   [numLines]map[string]*line // by what the clients wait for, and by the key
	turns   int
	waiters int
}

const numMarks = 4096

// Line says what a client waits for. The clients that wait for different things with one key are in different lines.
type Line uint8

// The lines. A client that waits for a place is in the line of its priority, ToEnter and above.
const (
	ToTake  Line = iota // for an element that one client gets
	ToRead              // for an element that all clients get
	ToEnter             // for a place among the leases of the key

	numLines = ToEnter + MaxPriority + 1
)

// A client that waits for a place counts as having come RiseTime earlier for each step of its priority. That is the same
// as if it rose by a step in each RiseTime that it waits, so nobody waits for ever because of others that are more
// urgent.
const (
	MaxPriority = 9 // the most urgent
	RiseTime    = 10 * time.Second
)

// MaxTurns bounds the keys of all waits; a key counts for every client that waits for it. A client that waits for a
// single key is never refused, since the number of connections bounds such clients.
const MaxTurns = 1 << 20

// line is the turns of a key in the order of arrival; the first may take.
type line struct {
	key         string
	first, last *turn
}

// turn is a waiter's place in the line of one of its keys.
type turn struct {
	of         *Waiter
	line       *line
	prev, next *turn
	place      int  // of the key in the waiter's list
	ready      bool // the turn has come, and the key may have got something since the waiter looked
}

// End says why a client no longer waits.
type End uint8

// The ends.
const (
	Waiting   End = iota // it goes on
	TimedOut             // its time has passed, or CLIENT UNBLOCK says so
	Unblocked            // CLIENT UNBLOCK with ERROR
)

// Waiter is a client that waits. It looks at a key only when Next returns the key: then it is the first in the line of
// the key. Keys.mu guards its fields, except the constant ones.
type Waiter struct {
	of      *Keys
	turns   []turn           // of its keys, each once; constant in number
	arrived int64            // constant; of a client that waits for a place, with its priority taken into account
	bytes   int              // constant
	wake    func(alone bool) // constant
	line    Line             // constant

	ready   int  // an index of turns: no turn before it is ready
	restate bool // there is a new leader, which does not know that this client waits
	idle    bool // it has looked everywhere, and will be woken
	end     End
	gone    bool
}

// Start makes the keys ready for use. begin is called when the first client begins to wait, and end when none is left:
// between the two, Changed must be called with each key that changes.
func (k *Keys) Start(begin, end func()) {
	k.begin, k.end, k.seed, k.node = begin, end, maphash.MakeSeed(), rand.Text()
	for i := range k.lines {
		k.lines[i] = map[string]*line{}
	}
}

// sameAs returns the range of lines whose clients are served in one order with the clients of a line.
func (to Line) sameAs() (from, end Line) {
	if to < ToEnter {
		return to, to + 1
	}
	return ToEnter, numLines
}

// first is the turn of the client that is to be served first in the line of a key, and in those that are the same as
// that line; nil without clients.
func (k *Keys) first(key string, to Line) (first *turn) {
	from, end := to.sameAs()
	for _, lines := range k.lines[from:end] {
		if l := lines[key]; l != nil && (first == nil || l.first.of.arrived <= first.of.arrived) {
			first = l.first
		}
	}
	return first
}

// isFirst reports whether nobody has to take before the client of a turn.
func (t *turn) isFirst() bool {
	return t.line.first == t && t.of.of.first(t.line.key, t.of.line) == t
}

func (k *Keys) mark(key string) *atomic.Int32 {
	return &k.marks[maphash.String(k.seed, key)%numMarks]
}

// Add adds a client at the end of the line of each key. It returns nil, and adds nothing, if all lines together would
// have more than MaxTurns turns. wake is called, from any goroutine, as soon as Next has something to return after it
// had nothing; until it has had nothing once, the client is taken to be busy with its first look. wake must return at
// once. alone is false if many clients may be woken at the same time.
//
// A client that only reads is in a line of its own kind. All clients in such a line look at a key that has changed: the
// first is woken, and each wakes the next, so that a change takes the same time however many wait.
func (k *Keys) Add(now int64, keys [][]byte, to Line, wake func(alone bool)) *Waiter {
	w := &Waiter{of: k, turns: make([]turn, 0, len(keys)), arrived: now, wake: wake, line: to, bytes: waiterBytes}
	if to > ToEnter {
		w.arrived -= int64(to-ToEnter) * int64(RiseTime)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(keys) > 1 && k.turns+len(keys) > MaxTurns {
		return nil
	}
	if k.waiters++; k.waiters == 1 {
		k.begin()
	}
	lines := k.lines[to]
	for _, key := range keys {
		l := lines[string(key)]
		switch {
		case l == nil:
			l = &line{key: string(key)}
			lines[l.key] = l
		case l.last.of == w:
			continue // the same key again
		}
		w.turns = append(w.turns, turn{of: w, line: l, prev: l.last, place: len(w.turns)})
		t := &w.turns[len(w.turns)-1]
		if l.last = t; t.prev == nil {
			l.first = t
		} else {
			t.prev.next = t
		}
		t.ready = to == ToRead || t.isFirst()
		w.bytes += turnBytes + 2*len(key)
		k.mark(l.key).Add(1)
	}
	k.turns += len(w.turns)
	return w
}

// Changed notes that a key has changed, nil for all keys, and wakes the client that is the first to take, the first to
// read, and the first to enter. It returns at once.
func (k *Keys) Changed(key []byte) {
	if key != nil && k.marks[maphash.Bytes(k.seed, key)%numMarks].Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key != nil {
		key := string(key)
		for _, to := range [...]Line{ToTake, ToRead, ToEnter} {
			if t := k.first(key, to); t != nil {
				t.call(true)
			}
		}
		return
	}
	for to, lines := range k.lines {
		for key := range lines {
			k.first(key, Line(to)).call(false)
		}
	}
}

// Restate makes the first client in each line try to take an element, because another node leads now.
func (k *Keys) Restate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.lines[ToTake] {
		l.first.of.restate = true
		l.first.call(false)
	}
}

// Reenter makes the clients that are the first to enter look at their keys again, because there may be more places.
func (k *Keys) Reenter() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, lines := range k.lines[ToEnter:] {
		for key := range lines {
			k.first(key, ToEnter).call(false)
		}
	}
}

// call wakes the first client in the line of a key, to look at the key. alone is false if the clients of many keys are
// called.
func (t *turn) call(alone bool) {
	t.ready = true
	t.of.ready = min(t.of.ready, t.place)
	t.of.rouse(alone)
}

// rouse wakes a waiter that has nothing to do.
func (w *Waiter) rouse(alone bool) {
	if w.idle {
		w.idle = false
		w.wake(alone)
	}
}

// Len is the number of clients that wait.
func (k *Keys) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.waiters
}

// Next returns a key to look at, the first in the client's order for which it is the client's turn, or why the client
// no longer waits. If there is neither, ok is false, and the client will be woken later. With restate, the client has
// to try to take an element even if it sees none.
func (w *Waiter) Next() (key string, restate bool, end End, ok bool) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.end != Waiting {
		return "", false, w.end, false
	}
	if t := w.nextReady(); t != nil {
		return t.line.key, w.restate, Waiting, true
	}
	w.idle, w.restate = true, false
	return "", false, Waiting, false
}

// nextReady takes the first turn that is ready.
func (w *Waiter) nextReady() *turn {
	for ; w.ready < len(w.turns); w.ready++ {
		t := &w.turns[w.ready]
		if !t.ready {
			continue
		}
		t.ready = false
		if w.line == ToRead && t.next != nil {
			t.next.call(false)
		}
		if w.line < ToEnter || t.isFirst() { // a more urgent client may have come
			return t
		}
	}
	return nil
}

// Turns returns the keys that it is the client's turn to look at, in its order, as Next would one after the other.
func (w *Waiter) Turns() (keys []string) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	for t := w.nextReady(); t != nil; t = w.nextReady() {
		keys = append(keys, t.line.key)
	}
	return keys
}

// Again makes Next return keys that it has returned before, if it is still the client's turn for them.
func (w *Waiter) Again(keys ...string) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.gone {
		return
	}
	for i := range w.turns {
		if t := &w.turns[i]; (w.line == ToRead || t.isFirst()) && slices.Contains(keys, t.line.key) {
			t.call(true)
		}
	}
}

// Finish ends the wait without an element. It reports false if the wait had already ended.
func (w *Waiter) Finish(end End) bool {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.gone || w.end != Waiting {
		return false
	}
	w.end = end
	w.rouse(false)
	return true
}

// leftAtOnce is the number of lines that a client leaves under one hold of the lock, which holds up other clients and
// changes of their keys.
const leftAtOnce = 64

// Leave takes a client out of all lines: it was served, gave up or hung up. Where it was the first, the next client has
// its turn.
func (w *Waiter) Leave() {
	k := w.of
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.gone {
		return
	}
	w.gone, w.idle = true, false
	for i := range w.turns {
		if i%leftAtOnce == leftAtOnce-1 {
			k.mu.Unlock()
			k.mu.Lock()
		}
		w.turns[i].leave()
	}
	if k.waiters--; k.waiters == 0 {
		k.end()
	}
}

// leave takes a turn out of its line.
func (t *turn) leave() {
	k, l, first := t.of.of, t.line, t.isFirst()
	if t.of.line == ToRead && t.ready && t.next != nil {
		t.next.call(false)
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		l.last = t.prev
	}
	switch {
	case t.prev != nil:
		t.prev.next = t.next
	case t.next == nil:
		delete(k.lines[t.of.line], l.key)
	default:
		l.first = t.next
	}
	if first {
		if next := k.first(l.key, t.of.line); next != nil {
			next.call(len(t.of.turns) == 1)
		}
	}
	k.turns--
	k.mark(l.key).Add(-1)
}

// Len is the number of keys that the client waits for.
func (w *Waiter) Len() int { return len(w.turns) }

// The memory of a wait, roughly.
const (
	waiterBytes = 160
	turnBytes   = 160 // with the line of the key
)

// Bytes is the memory of a client's wait.
func (w *Waiter) Bytes() int { return w.bytes }
