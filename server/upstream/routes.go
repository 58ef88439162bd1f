package upstream

import (
	"errors"
	"sync"
	"time"

	"github.com/stintdb/stint/engine/slot"
)

// routes has the connections to home: one that is always kept, and one to each node that a MOVED has named.
type routes struct {
	first *home

	mu     sync.Mutex
	named  map[string]*home // by address
	bySlot map[int]string   // addresses
	ended  bool
}

// Bounds of nodes other than the first.
const (
	maxNamed = 64 // nodes whose connections are kept
	maxMoves = 3  // how often a request goes on to another node
)

// send asks home about a key. answer is called once, perhaps before send returns.
func (r *routes) send(timeout time.Duration, key []byte, words []string, answer func(reply, error)) {
	at := slot.Of(key)
	r.ask(r.of(at), at, time.Now().Add(timeout), words, maxMoves, answer)
}

// ask asks a node. If the node does not decide the slot's keys, is gone, or has no leader, because it is cut off, it has
// carried nothing out, and another one is asked.
func (r *routes) ask(to *home, at int, until time.Time, words []string, moves int, answer func(reply, error)) {
	to.send(time.Until(until), words, func(got reply, err error) {
		var next *home
		if address := got.movedTo(); address != "" && err == nil {
			next, err = r.move(at, address), errNotSent // nobody has decided it, if nobody else is asked
		} else if to != r.first && time.Now().Before(until) && (errors.Is(err, errNotSent) || codeOf(got.refusal) == noLeaderCode) {
			next = r.first
		}
		if next == nil || moves == 0 {
			answer(got, err)
			return
		}
		r.ask(next, at, until, words, moves-1, answer)
	})
}

// of returns the node that decides the keys of a slot, as far as it is known.
func (r *routes) of(at int) *home {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.named[r.bySlot[at]]; h != nil {
		return h
	}
	return r.first
}

// move directs requests about a slot's keys to the node at an address from now on. It returns nil if there are too many
// nodes.
func (r *routes) move(at int, address string) *home {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.named[address]
	if h == nil {
		if r.ended || len(r.named) >= maxNamed {
			return nil
		}
		h = &home{addresses: []string{address}, dial: r.first.dial, login: r.first.login, log: r.first.log}
		h.gone = func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.named, address)
		}
		h.start()
		r.named[address] = h
	}
	r.bySlot[at] = address
	return h
}

// status reports whether the first node is connected, and the last failure.
func (r *routes) status() (connected bool, failure string) {
	connected, failure = r.first.status()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.named {
		if failure == "" {
			_, failure = h.status()
		}
	}
	return connected, failure
}

func (r *routes) close() {
	r.mu.Lock()
	r.ended = true
	all := []*home{r.first}
	for _, h := range r.named {
		all = append(all, h)
	}
	r.mu.Unlock()
	for _, h := range all {
		h.close()
	}
}
