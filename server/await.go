package server

import (
	"sync/atomic"

	"github.com/stintdb/stint/server/resp"
)

// awaited is a reply that comes when something outside the session is done. The connection carries out nothing else
// meanwhile.
type awaited struct {
	over   atomic.Bool
	quiet  bool
	finish func(w *resp.Writer) // writes the reply; set before over
	wait   *waiter              // what sets over, if that is a time
}

// finishAwaited writes the reply that has become ready.
func (s *session) finishAwaited(ws *workspace) {
	a, w := s.awaited, &ws.out
	s.awaited = nil
	s.waiting.Store(false)
	s.lastActive.Store(s.host.clock.Now()) // it was not idle: it was made to wait
	mark := len(w.Buf)
	a.finish(w)
	s.publish()
	if a.quiet {
		w.Buf = w.Buf[:mark]
	}
}

// Await implements [command.Session].
func (s *session) Await(start func(done func(error))) {
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		start(func(err error) {
			done(func(w *resp.Writer) {
				if err != nil {
					w.Error(err.Error())
					return
				}
				w.Status("OK")
			})
		})
	})
}

// AwaitReply implements [command.Session].
func (s *session) AwaitReply(start func(done func(finish func(*resp.Writer)))) {
	a := &awaited{quiet: s.silent}
	s.awaited = a
	s.waiting.Store(true)
	start(func(finish func(*resp.Writer)) {
		a.finish = finish
		a.over.Store(true)
		s.wake()
	})
}

// MayAwait implements [command.Session]: the replies of one EXEC come together.
func (s *session) MayAwait() bool { return !s.inExec }
