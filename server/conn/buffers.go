package conn

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"

	"github.com/stintdb/stint/server/stats"
)

// minShare is what every connection may have buffered however many there are.
const minShare = 2 << 10

// overMemoryLimit updates the total size of all buffers and reports whether to close this connection: the total exceeds its
// bound, and the connection uses more than its share.
func (r *Registry) overMemoryLimit(c *Session, bytes int) bool {
	if before := c.buffered.Load(); int64(bytes) != before {
		c.buffered.Store(int64(bytes))
		r.env.Buffers.Bytes.Add(int64(bytes) - before)
	}
	total, most := r.env.Buffers.Bytes.Load(), r.env.Buffers.Most.Load()
	if total <= most || int64(bytes) <= r.clientShare(most) {
		return false
	}
	if c.killed.Load() {
		return true // and counted
	}
	r.env.Stats.Reject(stats.ClientMemory)
	r.env.logClosed(slog.LevelInfo, "closed a client whose buffers were more than its share", "client", c.id, "bytes", bytes, "of_all_clients", total)
	return true
}

// clientShare is each connection's part of a number of bytes.
func (r *Registry) clientShare(of int64) int64 {
	return max(of/int64(max(1, r.Count())), minShare)
}

// CloseLargest makes room before the buffers of all connections reach their bound: connections with the largest go, and
// not the one that comes next.
func (r *Registry) CloseLargest() {
	most := r.env.Buffers.Most.Load() / 8 * 7
	over := r.env.Buffers.Bytes.Load() - most
	if over <= 0 {
		return
	}
	all, share := r.All(), r.clientShare(most)
	all = slices.DeleteFunc(all, func(c *Session) bool { return c.buffered.Load() <= share })
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(b.buffered.Load(), a.buffered.Load()) })
	for _, c := range all {
		if over <= 0 {
			return
		}
		over -= c.buffered.Load()
		if !c.killed.Load() {
			r.env.Stats.Reject(stats.ClientMemory)
			c.Kill()
		}
	}
}

// Usage is the memory of a session's own buffers, in bytes.
type Usage struct {
	Input       int // not executed yet
	Arguments   int // scratch of the reader
	Transaction int // commands between MULTI and EXEC, and watched keys
	Handshake   int // of TLS
	Decision    int // a batch that the decider has not finished
	Monitor     int // the backlog of MONITOR
	Backlog     int // the lines in it
	Messages    int // of channels, not written yet, and the names of the channels
	KeyWait     int // a command that waits for keys
	Tracking    int // keys and prefixes that it tracks, and messages about them

	Queued int // commands between MULTI and EXEC, not bytes
}

// Usage returns the sizes of the session's buffers. The owner of the connection calls it.
func (s *Session) Usage() Usage {
	u := Usage{Input: cap(s.rest), Arguments: s.reader.Bytes(), Transaction: s.multi.memoryBytes + s.watched.memory(), Handshake: s.handshakeBytes, Queued: len(s.multi.queued)}
	if s.deciding != nil {
		u.Decision = s.deciding.memory()
	}
	if s.monitor != nil {
		u.Monitor, u.Backlog = s.monitor.bytes()
	}
	if s.subscriber != nil {
		u.Messages = s.subscriber.Bytes()
	}
	if s.keyWait != nil {
		u.KeyWait = s.keyWait.bytes()
	}
	u.Tracking = s.inbox.Bytes()
	if c := s.tracker.Load(); c != nil {
		u.Tracking += c.Bytes()
	}
	return u
}

// bufferBytes is the memory of a connection's buffers. Unsent replies lie in blocks whose sizes are powers of two.
func (s *Session) bufferBytes(unsent int) int {
	u := s.Usage()
	bytes := 2*unsent + u.Input + u.Transaction + u.Handshake + u.Decision + u.Monitor + u.Messages + u.KeyWait + u.Tracking
	if u.Arguments > KeepRestBytes {
		bytes += u.Arguments
	}
	return bytes
}

// ErrClientMemory ends a connection whose buffers are more than its share of --client-memory.
var ErrClientMemory = errors.New("the buffers of all clients are full, and this one has more than its share")

// CountHandshake adds bytes to those of a TLS handshake, and reports whether they are too much.
func (s *Session) CountHandshake(bytes int) (tooMuch bool) {
	s.handshakeBytes += bytes
	return s.env.Registry.overMemoryLimit(s, s.bufferBytes(0))
}

// HandshakeBytes is the sum of the bytes given to CountHandshake.
func (s *Session) HandshakeBytes() int { return s.handshakeBytes }

// BeginWrite counts replies whose write waits for the client, until EndWrite: they are in no buffer that an event loop
// would count. It reports whether they are too much.
func (s *Session) BeginWrite(replies []byte) (tooMuch bool) {
	s.fanout.Pause()
	held := int64(cap(replies))
	s.buffered.Add(held)
	total, most := s.env.Buffers.Bytes.Add(held), s.env.Buffers.Most.Load()
	if total <= most || int64(len(replies)) <= s.env.Registry.clientShare(most) {
		return false
	}
	s.env.Stats.Reject(stats.ClientMemory)
	return true
}

// EndWrite takes back the count of BeginWrite.
func (s *Session) EndWrite(replies []byte) {
	held := int64(cap(replies))
	s.env.Buffers.Bytes.Add(-held)
	s.buffered.Add(-held)
	s.fanout.Resume()
}
