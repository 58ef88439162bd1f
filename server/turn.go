package server

import (
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/config"
)

// link is how a session's replies leave. It belongs to the connection's owner.
type link interface {
	Write(b []byte) (int, error)
	// WriteLast is Write, after which the connection closes: as far as it can be, the client learns of both at once.
	WriteLast(b []byte) (int, error)
	Unsent() int // bytes written that the client has not taken yet
}

// pressure is what a connection takes of the server while it is not served: unsent replies and unfinished input.
type pressure struct {
	paused      bool         // nothing is carried out until the client has read more
	pausedSince atomic.Int64 // clock; 0 while it is not
	looking     atomic.Bool  // it will be woken while it is paused
	partSince   atomic.Int64 // clock: when the command that is not whole yet began; 0 if there is none
	buffered    int          // bytes of both, as last counted
}

// A paused connection is looked at again after pauseLook, and then whenever an eighth of the time has passed that it has
// been paused, but after pauseLookMost at most: there may be many that never read.
const (
	pauseLook     = 5 * time.Millisecond
	pauseLookMost = 250 * time.Millisecond
)

// turn is what the connection's owner has done when bytes have come in, or, with none, when the session asked to be
// woken: they are carried out and the replies leave through the link. It reports that the connection is over.
func (s *session) turn(in []byte) (over bool) {
	ws, cfg := s.host.borrow(), s.host.Config()
	defer s.host.release(s, ws)
	s.answered = false
	s.unpause(cfg)
	more := s.arrive(in, ws, cfg)
	for {
		s.host.count(ws)
		s.taken.sent(len(ws.out.Buf))
		if len(ws.out.Buf) > 0 {
			write := s.link.Write
			if !more && s.parts() {
				write = s.link.WriteLast
			}
			if _, err := write(ws.out.Buf); err != nil {
				return true
			}
			ws.out.Buf = ws.out.Buf[:0]
		}
		unsent := s.link.Unsent()
		if unsent > s.outputBuffer(cfg) {
			s.dropSlowReader(unsent)
			return true
		}
		s.pause(unsent, cfg)
		if !more || s.paused {
			break
		}
		more = s.feed(nil, ws, cfg)
	}
	unsent := s.link.Unsent()
	s.showBuffers(unsent)
	if s.host.isTooMuch(s, unsent+cap(s.rest)+s.multi.bytes, cfg) {
		return true
	}
	return s.killed.Load() || s.closing || s.leavesNow(unsent)
}

func (s *session) dropSlowReader(unsent int) {
	s.host.stats.slowReaders.Add(1)
	s.host.log.Info("closed a client that does not read its replies", "client", s.id, "unread_bytes", unsent)
}

// pause stops carrying out commands once half of what may be left unread is: what the client sends is then only kept, as
// far as the query buffer goes, until it has read.
func (s *session) pause(unsent int, cfg *config.Config) {
	if s.paused || unsent <= s.outputBuffer(cfg)/2 {
		return
	}
	s.paused = true
	s.pausedSince.CompareAndSwap(0, max(1, s.host.clock.Now()))
	s.lookLater(pauseLook)
}

// lookLater has a connection woken whose client is to read, as the loops don't tell when it has. Input that arrives
// meanwhile has it looked at as well, but not woken once more.
func (s *session) lookLater(wait time.Duration) {
	if s.looking.Swap(true) {
		return
	}
	time.AfterFunc(wait, func() {
		s.looking.Store(false)
		s.wake()
	})
}

// unpause goes on if the client has read enough, and looks again later otherwise.
func (s *session) unpause(cfg *config.Config) {
	if !s.paused {
		return
	}
	if s.link.Unsent() > s.outputBuffer(cfg)/4 {
		pausedFor := time.Duration(s.host.clock.Now() - s.pausedSince.Load())
		s.lookLater(min(max(pausedFor/8, pauseLook), pauseLookMost))
		return
	}
	s.paused = false
	s.pausedSince.Store(0)
}

// isTooMuch counts what a connection's buffers take, and reports that it has to go: all of them together are beyond
// their bound, and this one has more than its share.
func (s *Server) isTooMuch(c *session, bytes int, cfg *config.Config) bool {
	total := s.buffered.Add(int64(bytes - c.buffered))
	c.buffered = bytes
	if total <= cfg.ClientBytes || int64(bytes) <= max(cfg.ClientBytes/int64(max(1, s.clients.count())), minShare) {
		return false
	}
	s.refuse(clientMemory)
	s.log.Info("closed a client whose buffers were more than its share", "client", c.id, "bytes", bytes, "of_all_clients", total)
	return true
}

// minShare is what every connection may have buffered however many there are.
const minShare = 2 << 10

// notePart notes since when the front of the input has been an unfinished command. Bytes that trickle in do not begin it
// anew.
func (s *session) notePart(left, consumed int) {
	switch {
	case left == 0 || !s.ready():
		s.partSince.Store(0)
	case consumed > 0 || s.partSince.Load() == 0:
		s.partSince.Store(max(1, s.host.clock.Now()))
	}
}

// closeStuck closes connections that are in the middle of a command, or of reading their replies, for too long.
func (s *Server) closeStuck() {
	cfg, now := s.Config(), s.clock.Now()
	for _, c := range s.clients.all() {
		if since := c.partSince.Load(); since > 0 && now-since > int64(cfg.CommandTimeout) && !c.killed.Load() {
			s.refuse(commandTimeout)
			c.kill()
		}
		if since := c.pausedSince.Load(); since > 0 && now-since > int64(cfg.OutputTimeout) && !c.killed.Load() {
			s.stats.slowReaders.Add(1)
			c.kill()
		}
	}
}
