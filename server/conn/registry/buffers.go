package registry

import (
	"cmp"
	"log/slog"
	"slices"

	"github.com/stintdb/stint/server/stats"
)

// minShare is what every connection may have buffered however many there are.
const minShare = 2 << 10

// OverMemoryLimit updates the total size of all buffers and reports whether to close this connection: the total exceeds
// its bound, and the connection uses more than its share.
func (c *Connection) OverMemoryLimit(bytes int) bool {
	r := c.registry
	if before := c.buffered.Load(); int64(bytes) != before {
		c.buffered.Store(int64(bytes))
		r.Buffers.Bytes.Add(int64(bytes) - before)
	}
	total, most := r.Buffers.Bytes.Load(), r.Buffers.Most.Load()
	if total <= most || int64(bytes) <= r.clientShare(most) {
		return false
	}
	if c.killed.Load() {
		return true // and counted
	}
	r.Counts.Reject(stats.ClientMemory)
	r.LogClosed(slog.LevelInfo, "closed a client that used more than its share of --client-memory",
		"client", c.id, "bytes", bytes, "of_all_clients", total)
	return true
}

// clientShare is each connection's part of a number of bytes.
func (r *Registry) clientShare(of int64) int64 {
	return max(of/int64(max(1, r.Count())), minShare)
}

// CloseLargest makes room before the buffers of all connections reach their bound: connections with the largest go, and
// not the one that comes next.
func (r *Registry) CloseLargest() {
	most := r.Buffers.Most.Load() / 8 * 7
	over := r.Buffers.Bytes.Load() - most
	if over <= 0 {
		return
	}
	all, share := r.All(), r.clientShare(most)
	all = slices.DeleteFunc(all, func(c *Connection) bool { return c.buffered.Load() <= share })
	slices.SortFunc(all, func(a, b *Connection) int { return cmp.Compare(b.buffered.Load(), a.buffered.Load()) })
	for _, c := range all {
		if over <= 0 {
			return
		}
		over -= c.buffered.Load()
		if !c.killed.Load() {
			r.Counts.Reject(stats.ClientMemory)
			c.Kill()
		}
	}
}

// BeginWrite counts replies whose write waits for the client, until EndWrite: they are in no buffer that an event loop
// would count. It reports whether they are too much.
func (c *Connection) BeginWrite(replies []byte) (tooMuch bool) {
	c.Fanout.Pause()
	held := int64(cap(replies))
	c.buffered.Add(held)
	total, most := c.registry.Buffers.Bytes.Add(held), c.registry.Buffers.Most.Load()
	if total <= most || int64(len(replies)) <= c.registry.clientShare(most) {
		return false
	}
	c.registry.Counts.Reject(stats.ClientMemory)
	return true
}

// EndWrite takes back the count of BeginWrite.
func (c *Connection) EndWrite(replies []byte) {
	held := int64(cap(replies))
	c.registry.Buffers.Bytes.Add(-held)
	c.buffered.Add(-held)
	c.Fanout.Resume()
}
