package tracking

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/fanout"
)

// Options are the options of CLIENT TRACKING ON.
type Options struct {
	Broadcast bool // tracks keys by prefixes, not the keys that were read
	OptIn     bool // only the keys read after CLIENT CACHING YES
	OptOut    bool // all keys except those read after CLIENT CACHING NO
	NoLoop    bool // no messages about keys that the connection itself changed
	Redirect  int64
}

// Client is a connection that tracks keys.
type Client struct {
	own    *Inbox
	of     *Table                // since Start
	state  atomic.Pointer[state] // nil once it no longer tracks
	broken atomic.Bool
	bytes  atomic.Int64 // of the keys that it tracks, and of its prefixes
	items  atomic.Int64 // the keys that it tracks

	mu       sync.Mutex
	deciding bool // with NoLoop: commands of the connection are being decided
	held     []Message
	heldKeys int
	lost     bool // more keys changed than are held
}

// state is how a client tracks. It is replaced, never changed.
type state struct {
	Options
	to       *Inbox // where messages go
	patterns []*pattern
}

// NewClient returns a client with the inbox of its connection. It tracks once [Table.Start] was called.
func NewClient(own *Inbox) *Client { return &Client{own: own} }

// Options returns the options, and false if the connection does not track.
func (c *Client) Options() (o Options, on bool) {
	if c == nil {
		return Options{}, false
	}
	s := c.state.Load()
	if s == nil {
		return Options{}, false
	}
	return s.Options, true
}

// Prefixes returns the prefixes of a client that broadcasts, in order.
func (c *Client) Prefixes() (all []string) {
	if s := c.state.Load(); s != nil {
		for _, p := range s.patterns {
			all = append(all, p.prefix)
		}
	}
	return all
}

// IsBroken reports whether a message could not be redirected because the other connection is gone.
func (c *Client) IsBroken() bool { return c.broken.Load() }

// Bytes is the memory of the keys and prefixes that the client tracks.
func (c *Client) Bytes() int { return int(c.bytes.Load()) }

// Items is the number of keys that the client tracks.
func (c *Client) Items() int { return int(c.items.Load()) }

// Pull makes messages about the changed keys that begin with one of the client's prefixes, and about the departures
// that concern the client. The connection calls it in its turn.
func (c *Client) Pull() {
	s := c.state.Load()
	if s == nil {
		return
	}
	for _, p := range s.patterns {
		keys, isLost := p.place.Read()
		if isLost {
			c.callOther(c.send(Message{Kind: All}))
		}
		if m := (Message{Kind: Keys, Keys: slices.Clone(keys), pattern: p}); len(keys) > 0 {
			c.callOther(c.tell(m))
		}
	}
	c.of.leave(c)
}

// callOther calls a connection, unless it is nil or the client's own, whose turn it is.
func (c *Client) callOther(r *fanout.Reader) {
	if r != nil && r != c.own.owner {
		r.Call(1)
	}
}

// BeginDecision notes that commands of the connection are being decided: with NoLoop it is known
// only at EndDecision which of the changes until then are its own.
func (c *Client) BeginDecision() (noLoop bool) {
	if o, _ := c.Options(); !o.NoLoop {
		return false
	}
	c.Pull() // changes until now were made by others
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deciding = true
	return true
}

// EndDecision sends messages about the keys that changed since BeginDecision, except the keys for which isOwn reports
// that the connection's own commands changed them.
func (c *Client) EndDecision(isOwn func(key []byte) bool) {
	if o, _ := c.Options(); !o.NoLoop {
		return
	}
	c.Pull()
	c.mu.Lock()
	held, lost := c.held, c.lost
	c.deciding, c.held, c.heldKeys, c.lost = false, nil, 0, false
	c.mu.Unlock()
	if lost {
		c.callOther(c.send(Message{Kind: All}))
		return
	}
	for _, m := range held {
		if m.Keys = slices.DeleteFunc(m.Keys, isOwn); len(m.Keys) > 0 {
			c.callOther(c.send(m))
		}
	}
}

// maxHeld bounds the changes that wait for EndDecision. If there are more, one message replaces them, which says that
// any key may have changed.
const maxHeld = 1000

// tell sends a message about keys that changed, now or after EndDecision. Like send, it returns the connection to be
// called.
func (c *Client) tell(m Message) *fanout.Reader {
	if c.hold(m) {
		return nil
	}
	return c.send(m)
}

// hold keeps a message back while it may be about a change of the client itself.
func (c *Client) hold(m Message) bool {
	if o, _ := c.Options(); !o.NoLoop {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.deciding:
		return false
	case c.heldKeys+len(m.Keys) > maxHeld:
		c.lost = true
	default:
		c.held, c.heldKeys = append(c.held, m), c.heldKeys+len(m.Keys)
	}
	return true
}

// send puts a message into the inbox that the client chose: its own, or the inbox of the connection that it redirects
// to. It returns the connection that has to be woken for the message, or nil. A client in its own turn need not wake
// itself, because it takes its messages in that turn.
func (c *Client) send(m Message) *fanout.Reader {
	s := c.state.Load()
	if s == nil {
		return nil
	}
	to := s.to
	m.IsRedirected = s.Redirect != 0
	isOpen, call := to.add(m)
	if !isOpen && to != c.own {
		c.broken.Store(true)
		to = c.own
		_, call = to.add(Message{Kind: Broken, Target: s.Redirect})
	}
	if !call {
		return nil
	}
	return to.owner
}
