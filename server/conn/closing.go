package conn

import "github.com/stintdb/stint/server/conn/wait"

// Unregister forgets a session whose connection is closed.
func (s *Session) Unregister() {
	s.onDisconnect()
	s.env.Registry.Remove(&s.public)
	s.dropBuffers()
}

// onDisconnect cancels everything that the session waits for. It refunds the tokens of a blocked reply, even if the
// reply is still being decided, and the replies after it in the queue become due earlier.
func (s *Session) onDisconnect() {
	if a := s.pending; a != nil && a.attempt != nil {
		s.env.Logins.Cancel(a.attempt)
	}
	if s.public.Wait.Has(wait.ForPause) {
		s.env.pause.forget(s)
	}
	s.stopMonitor()
	s.public.Cache.Stop()
	s.subscriptions.end()
	if s.public.Wait.Has(wait.ForDecision) && s.public.Wait.HappenAfter(wait.HangUp, wait.ForDecision) {
		s.refundUndecided()
	}
	s.endKeyWait(false)
	s.public.Fanout.Pause()
	s.turn.Leave()
	h := s.blocked
	if h == nil || !s.env.WaitQueue.Cancel(h.wait) {
		return
	}
	s.blocked = nil
	s.public.Wait.End(wait.ForDueTime)
	s.env.refund(&h.op, h.asked, &h.result, s.env.Clock.Now()-h.since)
}

// dropBuffers frees the buffers of a closed connection, because other connections may still refer to its session.
func (s *Session) dropBuffers() {
	s.rest, s.multi, s.watched = nil, transaction{}, nil
	s.reader.Forget()
}
