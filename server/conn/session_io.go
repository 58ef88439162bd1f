package conn

import (
	"log/slog"
	"time"

	"github.com/stintdb/stint/server/config"
)

// A paused connection is looked at again after recheckMin, and then whenever an eighth of the time has passed that it has
// been paused, but after recheckMax at most: there may be many that never read.
const (
	recheckMin = 5 * time.Millisecond
	recheckMax = 250 * time.Millisecond
)

// DropSlowReader counts and logs that the connection closes because its client does not read replies.
func (s *public) DropSlowReader(unsent int) {
	s.env.Stats.SlowReaders.Add(1)
	s.env.logClosed(slog.LevelInfo, "closed a client that does not read its replies", "client", s.id, "unread_bytes", unsent)
}

// dropsUnread reports whether the connection closes if its unread replies exceed their bound. A client that has logged in is paused first, at
// half of the bound, since a single batch of replies may be longer than the other half.
func dropsUnread(s *Session) bool {
	return s.user == nil || s.wait.has(ForReader) && !s.wait.has(ForClose)
}

// pause stops executing commands once the unread replies exceed half of their bound. Until the client has read some of them, the server takes little more
// of its input: see TakesInput.
func (s *Session) pause(unsent int, cfg *config.Config) {
	if s.wait.has(ForReader) || unsent <= s.outputBuffer(cfg)/2 {
		return
	}
	s.wait.begin(ForReader)
	s.pausedSince.CompareAndSwap(0, max(1, s.env.Clock.Now()))
	s.recheckLater(recheckMin)
}

// recheckLater wakes the session later to see whether its client has read, which only some connections report. Input
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

// MaxInputBytes is the most that the owner of a connection reads at a time.
const MaxInputBytes = 64 << 10

// TakesInput reports whether the owner of the connection is to read from it. While the session waits for the server, for a decision or for its
// turn, or for its client to read, it holds little input, and the rest stays with the kernel: a client that sends more is held up, and not closed.
func (s *Session) TakesInput() bool {
	return !s.wait.has(HoldsInput) || len(s.rest)+MaxInputBytes <= min(2*MaxInputBytes, s.env.config().QueryBufferBytes)
}

// trackPartialCommand records when the unfinished command at the front of the input began. More bytes of it do not reset
// that time. Bytes of a command that is skipped are consumed before the command is over.
// If there is more to execute once the output is sent, the front is none.
func (s *Session) trackPartialCommand(left, consumed int, wasSkipping, more bool) {
	isSkipping := s.reader.IsSkipping()
	switch {
	case left == 0 && !isSkipping || !s.ready() || more:
		s.partialSince.Store(0)
	case consumed > 0 && !(wasSkipping && isSkipping) || s.partialSince.Load() == 0:
		s.partialSince.Store(max(1, s.env.Clock.Now()))
	}
}

// shouldClose reports whether the connection is to close as the server is ending.
func (s *Session) shouldClose(unsent int) bool {
	if s.env.Draining.Load() && s.wait.waitsOnlyFor(ForKey) {
		return unsent == 0 // nothing is due to it
	}
	if !s.ready() || unsent > 0 {
		return false
	}
	return s.env.Draining.Load() || s.closesAfterReply()
}

// closesAfterReply reports whether the connection closes once the replies of this turn have been sent.
func (s *Session) closesAfterReply() bool {
	return s.env.ClosingAfterReply.Load() && s.limiterReplied && s.ready() && len(s.rest) == 0
}
