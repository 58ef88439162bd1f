package conn

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/config"
)

// ReplyConn is the way by which a session's replies leave. It belongs to the connection's owner.
type ReplyConn interface {
	Write(b []byte) (int, error)
	// WriteFinal is Write, after which the connection closes: as far as it can be, the client learns of both at once.
	WriteFinal(b []byte) (int, error)
	Unsent() int // bytes written that the client has not taken yet
}

// backpressure is the state of a connection with unsent replies or unfinished input.
type backpressure struct {
	pausedSince    atomic.Int64 // clock; 0 while it is not
	rechecking     atomic.Bool  // it will be woken while it is paused
	partialSince   atomic.Int64 // clock: when the command that is not whole yet began; 0 if there is none
	handshakeBytes int          // bytes of a TLS handshake
	buffered       atomic.Int64 // bytes they take, as last counted
}

// A paused connection is looked at again after recheckMin, and then whenever an eighth of the time has passed that it has
// been paused, but after recheckMax at most: there may be many that never read.
const (
	recheckMin = 5 * time.Millisecond
	recheckMax = 250 * time.Millisecond
)

// ServeInput is one turn: it executes the bytes that arrived (none after a wake-up) and writes the replies. It reports
// whether the connection must be closed.
func (s *Session) ServeInput(in []byte) (over bool) {
	batch, cfg := s.env.getBatch(), s.env.config()
	defer s.env.putUnlessDeciding(s, batch)
	s.limiterReplied = false
	yielded := s.wait.has(ForTurn) && !s.wait.isDue(ForTurn)
	s.unpause(cfg)
	more := s.receive(in, batch, cfg)
	for {
		s.env.count(batch)
		s.connStats.sent(len(batch.out.Buf))
		if n := len(batch.out.Buf); n > outputChunk && s.env.Registry.overMemoryLimit(s, s.bufferBytes(s.conn.Unsent())+n) {
			return true // before the connection keeps a copy, or its client has to be waited for
		}
		if len(batch.out.Buf) > 0 {
			write := s.conn.Write
			if !more && s.closesAfterReply() {
				write = s.conn.WriteFinal
			}
			if _, err := write(batch.out.Buf); err != nil {
				return true
			}
			batch.out.Buf = batch.out.Buf[:0]
		}
		unsent := s.conn.Unsent()
		if unsent > s.outputBuffer(cfg) {
			s.DropSlowReader(unsent)
			return true
		}
		s.pause(unsent, cfg)
		if !more || s.wait.has(ForReader|ForTurn) {
			break
		}
		more = s.feed(nil, batch, cfg)
	}
	if s.wait.has(ForTurn) && !yielded {
		s.resumeLater()
	}
	unsent := s.conn.Unsent()
	s.updateConnStats(unsent)
	if s.env.Registry.overMemoryLimit(s, s.bufferBytes(unsent)) {
		return true
	}
	return s.killed.Load() || s.wait.has(ForClose) || s.shouldClose(unsent)
}

// resumeLater has the rest of the input executed once others have had their turn.
func (s *Session) resumeLater() {
	goOn := func() {
		s.wait.happen(ForTurn)
		s.wake()
	}
	if s.runLater == nil {
		goOn()
		return
	}
	s.runLater(goOn)
}

// DropSlowReader counts and logs that the connection closes because its client does not read replies.
func (s *public) DropSlowReader(unsent int) {
	s.env.Stats.SlowReaders.Add(1)
	s.env.logClosed(slog.LevelInfo, "closed a client that does not read its replies", "client", s.id, "unread_bytes", unsent)
}

// pause stops executing commands once the unread replies exceed half of their bound. Until the client has read, its input
// is only buffered, up to the bound of the query buffer.
func (s *Session) pause(unsent int, cfg *config.Config) {
	if s.wait.has(ForReader) || unsent <= s.outputBuffer(cfg)/2 {
		return
	}
	s.wait.begin(ForReader)
	s.pausedSince.CompareAndSwap(0, max(1, s.env.Clock.Now()))
	s.recheckLater(recheckMin)
}

// recheckLater wakes the session later to see whether its client has read, because the loops do not report that. Input
// that arrives before then also checks, but does not schedule another wake-up.
func (s *Session) recheckLater(wait time.Duration) {
	if s.rechecking.Swap(true) {
		return
	}
	time.AfterFunc(wait, func() {
		s.rechecking.Store(false)
		s.wake()
	})
}

// unpause goes on if the client has read enough, and looks again later otherwise.
func (s *Session) unpause(cfg *config.Config) {
	if !s.wait.has(ForReader) {
		return
	}
	if s.conn.Unsent() > s.outputBuffer(cfg)/4 {
		pausedFor := time.Duration(s.env.Clock.Now() - s.pausedSince.Load())
		s.recheckLater(min(max(pausedFor/8, recheckMin), recheckMax))
		return
	}
	s.wait.end(ForReader)
	s.pausedSince.Store(0)
}

// trackPartialCommand records when the unfinished command at the front of the input began. More bytes of it do not reset
// that time.
func (s *Session) trackPartialCommand(left, consumed int) {
	switch {
	case left == 0 || !s.ready():
		s.partialSince.Store(0)
	case consumed > 0 || s.partialSince.Load() == 0:
		s.partialSince.Store(max(1, s.env.Clock.Now()))
	}
}

// shouldClose reports whether the connection is to close as the server is ending.
func (s *Session) shouldClose(unsent int) bool {
	if !s.ready() || unsent > 0 {
		return false
	}
	return s.env.Draining.Load() || s.closesAfterReply()
}

// closesAfterReply reports whether the connection closes once the replies of this turn have been sent.
func (s *Session) closesAfterReply() bool {
	return s.env.ClosingAfterReply.Load() && s.limiterReplied && s.ready() && len(s.rest) == 0
}
