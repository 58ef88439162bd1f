// Package keyevents passes changes of keys on to parts of the server, while they listen.
package keyevents

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Hub passes the changes of a store's keys on to its listeners. Without any, the store does not call it. The zero value
// has no store. Its methods may be called from any goroutine.
type Hub struct {
	listening atomic.Pointer[[]*Listener]

	mu      sync.Mutex // for changes of listening too
	observe func(on bool)
	count   int // of the reasons to listen
}

// Attach connects the hub with its store, which calls Changed. observe turns these calls on and off.
func (h *Hub) Attach(observe func(on bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.observe = observe
	observe(h.count > 0)
}

// Changed is called by the store, with locks held, when a key was written, deleted or dropped as expired. A nil key
// stands for all keys.
func (h *Hub) Changed(key []byte) {
	if all := h.listening.Load(); all != nil {
		for _, l := range *all {
			l.changed(key)
		}
	}
}

// Listener is one part that may listen.
type Listener struct {
	hub     *Hub
	changed func(key []byte)
	count   int // guarded by hub.mu
}

// NewListener returns a listener that does not listen yet. changed is called while the store holds locks: it must not
// wait, nor use the store, nor keep the key, which is nil if all keys changed.
func (h *Hub) NewListener(changed func(key []byte)) *Listener {
	return &Listener{hub: h, changed: changed}
}

// Listen starts calls of changed for every change, until Stop has been called as often as Listen. A key that is looked
// at after Listen is as the last change before it left it.
func (l *Listener) Listen() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.count++; l.count == 1 {
		h.set(append(h.current(), l))
	}
	if h.count++; h.count == 1 && h.observe != nil {
		h.observe(true)
	}
}

// Stop ends one Listen. Calls of changed that are under way may end after Stop has returned.
func (l *Listener) Stop() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count--; h.count == 0 && h.observe != nil {
		h.observe(false)
	}
	if l.count--; l.count == 0 {
		h.set(slices.DeleteFunc(h.current(), func(other *Listener) bool { return other == l }))
	}
}

// current returns a copy of the list of listeners.
func (h *Hub) current() []*Listener {
	if all := h.listening.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

func (h *Hub) set(all []*Listener) {
	if len(all) == 0 {
		h.listening.Store(nil)
		return
	}
	h.listening.Store(&all)
}
