package conn

import (
	"time"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/wait"
)

// A paused connection is looked at again after recheckMin, and then whenever an eighth of the time has passed that it
// has been paused, but after recheckMax at most: there may be many that never read.
const (
	recheckMin = 5 * time.Millisecond
	recheckMax = 250 * time.Millisecond
)

// dropsUnread reports whether the connection closes if its unread replies exceed their bound. A client that has logged
// in is paused first, at half of the bound, since a single batch of replies may be longer than the other half.
func dropsUnread(s *Session) bool {
	return s.user == nil || s.public.Wait.Has(wait.ForReader) && !s.public.Wait.Has(wait.ForClose)
}

// pause stops executing commands once the unread replies exceed half of their bound. Until the client has read some of
// them, the server takes little more of its input: see TakesInput.
func (s *Session) pause(unsent int, cfg *config.Config) {
	if s.public.Wait.Has(wait.ForReader) || unsent <= s.outputBuffer(cfg)/2 {
		return
	}
	s.public.Wait.Begin(wait.ForReader)
	s.public.PausedSince.CompareAndSwap(0, max(1, s.env.Clock.Now()))
	s.recheckLater(recheckMin)
}

// recheckLater wakes the session later to see whether its client has read, which only some connections report. Input
// that arrives before then also checks, but does not schedule another wake-up.
func (s *Session) recheckLater(pause time.Duration) {
	if s.rechecking.Swap(true) {
		return
	}
	time.AfterFunc(pause, func() {
		s.rechecking.Store(false)
		s.public.Wake()
	})
}

// unpause goes on if the client has read enough, and looks again later otherwise.
func (s *Session) unpause(cfg *config.Config) {
	if !s.public.Wait.Has(wait.ForReader) {
		return
	}
	if s.conn.Unsent() > s.outputBuffer(cfg)/4 {
		pausedFor := time.Duration(s.env.Clock.Now() - s.public.PausedSince.Load())
		s.recheckLater(min(max(pausedFor/8, recheckMin), recheckMax))
		return
	}
	s.public.Wait.End(wait.ForReader)
	s.public.PausedSince.Store(0)
}

// MaxInputBytes is the most that the owner of a connection reads at a time.
const MaxInputBytes = 64 << 10

// TakesInput reports whether the owner of the connection is to read from it. While the session waits for the server,
// for a decision or for its turn, or for its client to read, it holds little input, and the rest stays with the kernel:
// a client that sends more is held up, and not closed.
func (s *Session) TakesInput() bool {
	return !s.public.Wait.Has(wait.HoldsInput) ||
		len(s.rest)+MaxInputBytes <= min(2*MaxInputBytes, s.env.config().QueryBufferBytes)
}

// HoldsInput reports whether the session goes on by itself, soon or as soon as its client has read: see
// [wait.HoldsInput].
func (s *Session) HoldsInput() bool { return s.public.Awaits(wait.HoldsInput) }

// trackPartialCommand records when the unfinished command at the front of the input began. More bytes of it do not
// reset that time. Bytes of a command that is skipped are consumed before the command is over. If there is more to
// execute once the output is sent, no command is unfinished.
func (s *Session) trackPartialCommand(left, consumed int, wasSkipping, more bool) {
	isSkipping := s.reader.IsSkipping()
	switch {
	case left == 0 && !isSkipping || !s.ready() || more:
		s.public.PartialSince.Store(0)
	case consumed > 0 && !(wasSkipping && isSkipping) || s.public.PartialSince.Load() == 0:
		s.public.PartialSince.Store(max(1, s.env.Clock.Now()))
	}
}

// shouldClose reports whether the connection is to close as the server is ending.
func (s *Session) shouldClose(unsent int) bool {
	if s.env.Draining.Load() && s.public.Wait.AwaitsOnly(wait.ForKey) {
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

// updateStats notes the connection's buffers at the end of a turn.
func (s *Session) updateStats(unsent int) {
	queued := -1
	if s.multi.open {
		queued = len(s.multi.queued)
	}
	s.public.Stats.SetBuffers(len(s.rest), cap(s.rest)-len(s.rest), unsent)
	s.public.Stats.SetTransaction(queued, s.multi.bytes, s.watched.count())
}
