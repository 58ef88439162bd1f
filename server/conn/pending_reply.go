package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/resp"
)

// writePending writes the reply that has become ready.
func (s *Session) writePending(batch *commandBatch) {
	a, w := s.pending, &batch.out
	s.pending = nil
	s.public.Wait.End(wait.ForAnswer | wait.ForLogin)
	mark := len(w.Buf)
	a.finish(w)
	s.public.Publish(&s.client)
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
	s.public.Wait.Begin(wait.ForAnswer)
	start(func(finish func(*resp.Writer)) {
		a.finish = finish
		s.public.Wait.Happen(wait.ForAnswer)
		s.public.Wake()
	})
}

// Decide implements [command.Session].
func (s commandSession) Decide(b *engine.Batch) (done bool) { return s.env.Decider.Decide(b) }

// MayAwait implements [command.Session]: the replies of one EXEC come together.
func (s commandSession) MayAwait() bool { return !s.inExec }
