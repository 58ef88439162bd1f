package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/conn/wait"
)

// flush sends the batch to the decider and writes the replies, unless the decider needs longer.
func (s *Session) flush(batch *commandBatch) {
	if len(batch.replies) == 0 && !batch.exec || s.deciding != nil {
		return
	}
	b := &batch.decision
	if len(b.Ops) > 0 {
		if cap(b.Results) < len(b.Ops) {
			b.Results = make([]engine.Result, len(b.Ops), max(64, 2*len(b.Ops)))
		}
		b.Results = b.Results[:len(b.Ops)]
		b.Local = s.client.ReadOnly
		b.Done, b.Worked = s.onDecided, 0
		s.beginCaching(batch)
		if s.env.Channels.HasSubscribers() {
			batch.publishesTo = batch.channel()
		}
		if !s.decide(batch) {
			s.deciding, batch.started, batch.waits = batch, s.started, s.env.Clock.Now()
			s.public.Wait.Begin(wait.ForDecision)
			batch.copiedKeys.copyFrom(b.Ops, batch.first)
			return
		}
		s.turn.ChargeDecided(b)
	}
	s.writeReplies(batch, batch)
}

// decide sends a batch to the decider. It returns false if the decision comes later.
func (s *Session) decide(batch *commandBatch) (finished bool) {
	if batch.isLong(s.env.Keys) {
		s.env.longWork.Decide(share.Owner(s.user, s.public.Network()), &batch.decision)
		s.turn.Charge(store.OpWork * len(batch.decision.Ops))
		return false
	}
	return s.env.Decider.Decide(&batch.decision)
}

// decided is the Done of this session's batches; it may run on any goroutine.
func (s *Session) decided() {
	if s.public.Wait.HappenAfter(wait.ForDecision, wait.HangUp) {
		s.env.cleanup.run(s.refundUndecided) // it calls Decide, which the goroutine of the decider must not do
	}
	s.public.Wake()
}

// finishDecision writes the replies of a batch whose decider needed longer.
func (s *Session) finishDecision(out *commandBatch) {
	decided := s.deciding
	s.deciding = nil
	s.public.Wait.End(wait.ForDecision)
	s.timed += max(0, s.started-decided.waits-decided.decision.Worked) // waiting is not part of the execution
	s.writeReplies(decided, out)
	out.first = decided.copiedKeys.command
	s.record(out, decided.started)
	s.public.Publish(&s.client)
	s.public.StopIfKilled()
	s.env.putBatch(decided)
}

// refundUndecided refunds the reservations of a batch whose client disconnected before the decision, and the places that
// it had waited for. It is called by the later of the two events, the decision and the hang-up.
func (s *Session) refundUndecided() {
	batch := s.deciding
	for i := range batch.replies {
		r := &batch.replies[i]
		if r.count == 0 || !r.block && r.keyWait == nil {
			continue
		}
		op, result := &batch.decision.Ops[r.first], &batch.decision.Results[r.first]
		if r.keyWait != nil && r.keyWait.GivesBack() && (result.Allowed || result.Status == engine.Uncertain) {
			s.env.refund(op, s.env.Keys.Asked(op), result, 0)
			continue
		}
		if !r.block || !result.Allowed || result.Wait <= 0 {
			continue
		}
		// Adding and cancelling a waiter makes the later waiters of the same key due earlier.
		if s.env.WaitQueue.Cancel(s.env.waitFor(op, result, func() {})) {
			s.env.refund(op, s.env.Keys.Asked(op), result, 0)
		}
	}
}
