// Package tracking is the server's side of caches in clients: it keeps track of which connections have read which keys,
// and tells them of changes.
package tracking

import (
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/fanout"
)

// Kind is the kind of a message.
type Kind uint8

// The kinds of messages.
const (
	Keys   Kind = iota // some keys changed, or are no longer tracked
	All                // any key may have changed
	Broken             // the connection that invalidations go to is gone
)

// Message is about changes of keys. It is for one connection.
type Message struct {
	Kind   Kind
	Keys   [][]byte // shared with other connections: they must not be changed
	Target int64    // of Broken: the id of the connection that is gone
	// IsRedirected says that another connection tracks. A receiver in RESP2 can have the message if it is subscribed to
	// channels.
	IsRedirected bool
	pattern      *pattern // the prefix by which broadcast keys came; nil for keys that were read
}

// IsBroadcast reports whether the keys came by their prefix, and not because the connection had read them.
func (m *Message) IsBroadcast() bool { return m.pattern != nil }

// MaxQueuedBytes bounds the messages that a connection has not taken. If there are more, one message replaces them,
// which says that any key may have changed.
const MaxQueuedBytes = 1 << 20

// maxUnreadBytes bounds, for each prefix, the changed keys that some client has not read. Beyond it, such a client gets
// one message which says that any key may have changed: its turn would take too long otherwise.
const maxUnreadBytes = 256 << 10

// messageBytes is about the memory of a queued message beside its keys.
const messageBytes = 80

// Inbox holds the messages for one connection. Its owner takes them, and others add to them.
type Inbox struct {
	owner   *fanout.Reader
	hasMail atomic.Bool

	mu     sync.Mutex
	closed bool
	queue  []Message
	bytes  int // of the queue
}

// Init makes the inbox ready. Its owner is called when there are messages to take.
func (b *Inbox) Init(owner *fanout.Reader) { b.owner = owner }

// HasMail reports whether there are messages to take.
func (b *Inbox) HasMail() bool { return b.hasMail.Load() }

// Close ends the inbox. Senders learn that it is gone.
func (b *Inbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.queue, b.bytes = true, nil, 0
}

// Bytes is the memory of the messages.
func (b *Inbox) Bytes() int {
	if !b.HasMail() {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// Take returns the messages that have come.
func (b *Inbox) Take() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.queue
	b.queue, b.bytes = nil, 0
	b.hasMail.Store(false)
	return all
}

// add queues a message. isOpen is false if the connection is gone, and call says whether the owner is to be called.
func (b *Inbox) add(m Message) (isOpen, call bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, false
	}
	last := len(b.queue) - 1
	switch {
	case m.Kind == Keys && len(b.queue) > 0 && b.queue[0].Kind == All: // which it has not taken yet
		return true, false
	case m.Kind == All:
		b.queue, b.bytes = append(b.queue[:0], m), messageBytes
	case m.IsBroadcast() && last >= 0 && b.queue[last].pattern == m.pattern:
		b.queue[last].Keys = append(b.queue[last].Keys, m.Keys...)
		b.bytes += keysBytes(m.Keys)
	default:
		b.queue = append(b.queue, m)
		b.bytes += messageBytes + keysBytes(m.Keys)
	}
	if b.bytes > MaxQueuedBytes {
		b.queue, b.bytes = []Message{{Kind: All}}, messageBytes
	}
	return true, !b.hasMail.Swap(true)
}

func keysBytes(keys [][]byte) (n int) {
	for _, key := range keys {
		n += keyBytes(key)
	}
	return n
}

// keyBytes is about the memory of a key in a list.
func keyBytes(key []byte) int { return len(key) + 24 }
