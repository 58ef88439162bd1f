package tracking

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/fanout"
)

// departures are changed keys that many clients have read and still have to be told of. The queue tells one client
// after the other. A client whose turn comes earlier tells itself, so that it learns of the change before it gets
// another reply.
type departures struct {
	number atomic.Int32 // the length of the list

	departing sync.Mutex
	list      []*departure
}

// departure is one changed key, with the clients that are still to be told.
type departure struct {
	of     *Table
	stripe *stripe
	entry  *entry
	key    []byte
}

const (
	toldAtOnce    = 16 // the most clients that a connection tells at once when it changes a key
	maxDepartures = 16 // if there are so many already, a connection that changes a key tells all its clients at once
)

// changedKey sends messages to the clients that have read a key, and forgets that they have.
func (t *Table) changedKey(key []byte) {
	s := t.stripeOf(key)
	s.mu.Lock()
	e := s.take(key)
	if e == nil {
		s.mu.Unlock()
		return
	}
	t.removed(1, 0, 0)
	d := &departure{t, s, e, []byte(e.key)}
	if e.items > toldAtOnce && t.departs(d) {
		s.mu.Unlock()
		t.queue.Add(d)
		return
	}
	var called []*fanout.Reader
	for e.first != nil {
		if r := d.tell(e.first); r != nil {
			called = append(called, r)
		}
	}
	s.mu.Unlock()
	for _, r := range called {
		r.Call(1)
	}
}

// departs adds a departure, unless there are too many.
func (t *Table) departs(d *departure) bool {
	t.departing.Lock()
	defer t.departing.Unlock()
	if len(t.list) == maxDepartures {
		return false
	}
	t.list = append(t.list, d)
	t.number.Store(int32(len(t.list)))
	return true
}

// tell sends a message to one client and removes its item. The stripe is locked, so that the client's own turn finds
// either the item or the message.
func (d *departure) tell(i *item) *fanout.Reader {
	d.stripe.unlink(i)
	d.of.removed(0, 1, i.bytes())
	if o, _ := i.client.Options(); o.Broadcast {
		return nil
	}
	return i.client.tell(Message{Kind: Keys, Keys: [][]byte{d.key}})
}

// Next implements [fanout.Source].
func (d *departure) Next() (r *fanout.Reader, items int, more bool) {
	d.stripe.mu.Lock()
	for n := 0; n < toldAtOnce && r == nil && d.entry.first != nil; n++ {
		r = d.tell(d.entry.first)
	}
	more = d.entry.first != nil
	d.stripe.mu.Unlock()
	if t := d.of; !more {
		t.departing.Lock()
		t.list = slices.DeleteFunc(t.list, func(other *departure) bool { return other == d })
		t.number.Store(int32(len(t.list)))
		t.departing.Unlock()
	}
	return r, 1, more
}

// leave tells a client, in its turn, of the keys among the departures.
func (t *Table) leave(c *Client) {
	if t.number.Load() == 0 {
		return
	}
	t.departing.Lock()
	all := slices.Clone(t.list)
	t.departing.Unlock()
	for _, d := range all {
		d.stripe.mu.Lock()
		var r *fanout.Reader
		if i := d.stripe.items[pair{c, d.entry}]; i != nil {
			r = d.tell(i)
		}
		d.stripe.mu.Unlock()
		c.callOther(r)
	}
}
