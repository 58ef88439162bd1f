package registry

import (
	"log/slog"
	"sync/atomic"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/clientcache"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/fanout"
)

// Connection is the part of a session that other goroutines may read, and by which they ask it for something. Its plain
// fields do not change once it is registered.
type Connection struct {
	registry *Registry
	id       int64
	addr     string
	laddr    string
	opened   int64  // clock
	network  string // of addr, see unauthenticated.Network
	wake     func() // asks the connection's owner for a turn soon; safe from any goroutine

	Wait       wait.State
	Monitoring atomic.Bool
	Channels   atomic.Int64 // the number to which it is subscribed
	Cache      clientcache.Cache
	Fanout     fanout.Reader                   // of changed keys and messages
	BlockedOn  atomic.Pointer[blocking.Waiter] // nil unless it waits for keys
	Stats      Stats

	PausedSince  atomic.Int64 // clock: since its client does not read; 0 if it does
	PartialSince atomic.Int64 // clock: when the command that is not whole yet began; 0 if there is none

	published  atomic.Pointer[command.Client]
	loggedIn   atomic.Bool
	killed     atomic.Bool // by CLIENT KILL or a timeout
	lastActive atomic.Int64
	lastRow    atomic.Pointer[command.Row]
	buffered   atomic.Int64 // bytes of its buffers, as last counted
}

// NewConnection returns a connection from a client at addr to laddr, to be placed where it stays and then given to
// [Connection.Init]. wake asks its owner for a turn.
func (r *Registry) NewConnection(addr, laddr string, wake func()) Connection {
	return Connection{registry: r, addr: addr, laddr: laddr, network: unauthenticated.Network(addr),
		opened: r.Clock.Now(), wake: wake}
}

// Init makes the connection one of the many that may be woken together.
func (c *Connection) Init() {
	c.Fanout.Init(&c.registry.Fanout, c.wake)
	c.Cache.Init(&c.registry.caches, &c.Fanout)
	c.lastActive.Store(c.opened)
}

// Renewed returns a connection of nobody that is woken by the same means. The caller places it and gives it to
// [Connection.Init].
func (c *Connection) Renewed() Connection { return Connection{registry: c.registry, wake: c.wake} }

// Assign makes a connection that is not registered one of a client at an address.
func (c *Connection) Assign(addr string) { c.addr, c.opened = addr, c.registry.Clock.Now() }

// ID is the connection's number, unique for the life of the server; 0 before [Registry.Admit].
func (c *Connection) ID() int64 { return c.id }

// Addr is the client's address.
func (c *Connection) Addr() string { return c.addr }

// Network is the network that the client's address belongs to, see unauthenticated.Network.
func (c *Connection) Network() string { return c.network }

// Wake asks the connection's owner for a turn soon; safe from any goroutine.
func (c *Connection) Wake() { c.wake() }

// Awaits reports whether the session waits for any of the events.
func (c *Connection) Awaits(e wait.Event) bool { return c.Wait.Has(e) }

// IsDue reports whether any of the events that the session waits for has happened.
func (c *Connection) IsDue(e wait.Event) bool { return c.Wait.IsDue(e) }

// IsKilled reports whether the connection is to be closed.
func (c *Connection) IsKilled() bool { return c.killed.Load() }

// StopIfKilled has a connection that killed itself execute nothing more.
func (c *Connection) StopIfKilled() {
	if c.IsKilled() {
		c.Wait.Begin(wait.ForClose)
	}
}

// Kill tells the owner of the connection to close it. Any goroutine may call it.
func (c *Connection) Kill() {
	c.killed.Store(true)
	c.wake()
}

// Touch notes that the client is not idle.
func (c *Connection) Touch() { c.TouchAt(c.registry.Clock.Now()) }

// TouchAt is Touch with the time, by the clock.
func (c *Connection) TouchAt(now int64) { c.lastActive.Store(now) }

// Find is [command.Find] with a memory of the command before, which most often comes again.
func (c *Connection) Find(args [][]byte) (*command.Row, error) {
	if last := c.lastRow.Load(); last != nil && last.Is(args) {
		return last, nil
	}
	row, err := command.Find(args)
	if err == nil {
		c.lastRow.Store(row)
	}
	return row, err
}

// Publish makes changes of this connection visible to others.
func (c *Connection) Publish(client *command.Client) {
	if seen := c.published.Load(); seen == nil || *client != *seen {
		seen := *client
		c.published.Store(&seen)
	}
}

// Share is Publish for a connection that is not registered: no other goroutine looks for it, so nothing is copied.
func (c *Connection) Share(client *command.Client) { c.published.Store(client) }

// IsLoggedIn reports whether the connection is a user's.
func (c *Connection) IsLoggedIn() bool { return c.loggedIn.Load() }

// SetLoggedIn notes whether the connection is a user's, and counts it again if it is registered.
func (c *Connection) SetLoggedIn(is bool) {
	if was := c.loggedIn.Swap(is); c.id != 0 && was != is {
		c.registry.countLogin(c, was)
	}
}

// Identify shows others whose requests come by a connection that executes none itself, and counts it as logged in.
func (c *Connection) Identify(user *acl.User) {
	c.Publish(&command.Client{User: user.Name()})
	c.SetLoggedIn(true)
}

// DropSlowReader counts and logs that the connection closes because its client does not read replies.
func (c *Connection) DropSlowReader(unsent int) {
	c.registry.Counts.SlowReaders.Add(1)
	c.registry.LogClosed(slog.LevelInfo, "closed a client that does not read its replies",
		"client", c.id, "unread_bytes", unsent)
}
