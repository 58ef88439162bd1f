package conn

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/wait"
)

// Tracking implements [command.Session].
func (s commandSession) Tracking() command.Tracking { return &s.public.Cache }

// markCached notes whether the command added last reads keys that the client will hold in its cache.
func (s *Session) markCached(batch *commandBatch, caching bool) {
	if s.public.Cache.Client() == nil {
		return
	}
	last := &batch.replies[len(batch.replies)-1]
	if last.err == nil && last.row != nil && s.public.Cache.Holds(last.row, caching) {
		last.tracked, batch.tracked = true, true
	}
}

// beginCaching notes the keys that the client will hold, before its commands read them.
func (s *Session) beginCaching(batch *commandBatch) {
	if s.public.Cache.Client() == nil {
		return
	}
	s.public.Cache.BeginDecision(&batch.own, batch.decision.Ops)
	batch.decision.InOrder = batch.tracked
	if !batch.tracked {
		return
	}
	for i := range batch.replies {
		if r := &batch.replies[i]; r.tracked {
			s.public.Cache.Track(batch.decision.Ops[r.first : r.first+r.count])
		}
	}
}

// writeInvalidations writes the messages about changes of keys. While commands of the client are being decided, the
// messages wait. A client that got one before the reply of a read could believe that the reply already has the change;
// and messages about the client's own changes come after the reply.
func (s *Session) writeInvalidations(out *commandBatch) {
	if !s.public.Cache.Pull() || s.deciding != nil || s.public.Wait.Has(wait.ForReader|wait.ForClose) {
		return
	}
	w := &out.out
	w.RESP3 = s.client.RESP3
	words, before := w.Words, len(w.Buf)
	keys := s.public.Cache.Write(w, s.user, s.public.Channels.Load() > 0)
	s.turn.ChargeWords(keys)
	s.turn.ChargeWritten(w, words, before)
}
