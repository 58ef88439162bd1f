package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

// writePending writes the reply that has become ready.
func (s *Session) writePending(batch *commandBatch) {
	a, w := s.pending, &batch.out
	s.pending = nil
	s.wait.end(ForAnswer | ForLogin)
	mark := len(w.Buf)
	a.finish(w)
	s.publish(&s.client)
	if a.quiet {
		w.Buf = w.Buf[:mark]
	}
}

// Await implements [command.Session].
func (s commandSession) Await(start func(done func(error))) {
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
func (s commandSession) AwaitReply(start func(done func(finish func(*resp.Writer)))) {
	a := &pendingReply{quiet: s.silent}
	s.pending = a
	s.wait.begin(ForAnswer)
	start(func(finish func(*resp.Writer)) {
		a.finish = finish
		s.wait.happen(ForAnswer)
		s.wake()
	})
}

// Decide implements [command.Session].
func (s commandSession) Decide(b *engine.Batch) (done bool) { return s.env.Decider.Decide(b) }

// MayAwait implements [command.Session]: the replies of one EXEC come together.
func (s commandSession) MayAwait() bool { return !s.inExec }
