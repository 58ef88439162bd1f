// Package clientcache is the part of a connection in client-side caching. It notes which keys the connection's commands
// read, and writes the messages about their changes.
package clientcache

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/fanout"
	"github.com/stintdb/stint/server/tracking"
)

// Env is what the caches of all connections share.
type Env struct {
	Table *tracking.Table
	Find  func(id int64) *Cache // returns the cache of an open connection, nil if there is none
	Later func(work func())     // does long work on another goroutine
}

// Cache is what a connection's client may hold in its cache. It implements [command.Tracking].
type Cache struct {
	env     *Env
	client  atomic.Pointer[tracking.Client] // nil unless it tracks keys
	inbox   tracking.Inbox                  // of keys that changed
	caching bool                            // CLIENT CACHING was the command before
}

// Init makes the cache ready. The connection of r is called when there are messages to write.
func (c *Cache) Init(env *Env, r *fanout.Reader) {
	c.env = env
	c.inbox.Init(r)
}

// Client implements [command.Tracking].
func (c *Cache) Client() *tracking.Client { return c.client.Load() }

// Caching implements [command.Tracking].
func (c *Cache) Caching() bool { return c.caching }

// SetCaching implements [command.Tracking].
func (c *Cache) SetCaching() { c.caching = true }

// EndCaching ends what SetCaching began: the command that it was for has been executed.
func (c *Cache) EndCaching() { c.caching = false }

// Knows implements [command.Tracking].
func (c *Cache) Knows(id int64) bool { return c.env.Find(id) != nil }

// IsUsed reports whether the connection tracks keys, or has messages to write.
func (c *Cache) IsUsed() bool { return c.inbox.HasMail() || c.client.Load() != nil }

// Start implements [command.Tracking].
func (c *Cache) Start(o tracking.Options, prefixes []string) error {
	to := &c.inbox
	if o.Redirect != 0 {
		other := c.env.Find(o.Redirect)
		if other == nil {
			return command.ErrNoRedirect
		}
		to = &other.inbox
	}
	client := c.client.Load()
	if client == nil {
		client = tracking.NewClient(&c.inbox)
	}
	if c.env.Table.Start(client, o, to, prefixes) != nil {
		return command.ErrManyPrefixes.With(
			tracking.MaxClientPrefixes, tracking.MaxPrefixBytes, tracking.MaxPrefixes, tracking.MaxNestedPrefixes)
	}
	c.client.Store(client)
	return nil
}

// forgetHere is how many keys are forgotten on the event loop.
const forgetHere = 1000

// Stop implements [command.Tracking].
func (c *Cache) Stop() {
	client := c.client.Swap(nil)
	c.caching = false
	if client == nil {
		return
	}
	c.env.Table.Stop(client)
	if client.Items() > forgetHere {
		c.env.Later(func() { c.env.Table.Forget(client) })
		return
	}
	c.env.Table.Forget(client)
}

// Close stops the messages to a connection that is closed. Others that redirect messages to it learn that it is gone.
func (c *Cache) Close() { c.inbox.Close() }

// Bytes is the memory of the keys and prefixes that the connection tracks, and of the messages about them.
func (c *Cache) Bytes() int {
	bytes := c.inbox.Bytes()
	if client := c.client.Load(); client != nil {
		bytes += client.Bytes()
	}
	return bytes
}

// Holds reports whether the client will hold the keys that a command reads. caching tells whether CLIENT CACHING was
// the command before.
func (c *Cache) Holds(row *command.Row, caching bool) bool {
	o, _ := c.Client().Options()
	return row.ReadsKeys() && !o.Broadcast && (!o.OptIn || caching) && (!o.OptOut || !caching)
}

// Track notes that the client will hold the keys of operations. It is called before they are read, so that no change is
// missed.
func (c *Cache) Track(ops []engine.Op) {
	client := c.client.Load()
	eachKey(ops, func(key []byte) { c.env.Table.Track(client, key) })
}

// eachKey visits the keys that operations name.
func eachKey(ops []engine.Op, visit func(key []byte)) {
	for i := range ops {
		switch op := &ops[i]; {
		case op.Verb == engine.Command || op.Verb == engine.Script:
			for _, key := range op.DeclaredKeys() {
				visit(key)
			}
		case op.Verb == engine.AcquireAll:
			eachKey(op.Parts, visit)
		case op.Verb.HasOneKey():
			visit(database.KeyOf(op.Key))
		}
	}
}
