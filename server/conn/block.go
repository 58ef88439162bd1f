package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/waitqueue"
)

// blockedReply is a granted reservation whose reply waits for its time (BLOCK). Until then the
// connection executes nothing else; other connections are not affected.
type blockedReply struct {
	row    *command.Row
	quiet  bool
	op     engine.Op
	result engine.Result
	wait   *waitqueue.Waiter
}

// block keeps a reply back until its wait is over.
func (s *Session) block(r *reply, op engine.Op, result engine.Result) {
	op.Tokens = result.Granted
	h := &blockedReply{row: r.row, quiet: r.quiet, op: op, result: result}
	s.blocked = h
	s.wait.begin(ForDueTime)
	due := s.env.Clock.Now() + result.Wait
	h.wait = s.env.WaitQueue.Add(op, due, func() {
		s.wait.happen(ForDueTime)
		s.wake()
	})
}

// unblock writes the reply that was held back.
func (s *Session) unblock(batch *commandBatch) {
	h := s.blocked
	s.blocked, s.limiterReplied = nil, true
	s.wait.end(ForDueTime)
	if h.quiet {
		return
	}
	waited := h.result.Wait
	h.result.Wait = 0
	h.result.Reset = max(0, h.result.Reset-waited)
	h.row.Reply(&batch.out, []engine.Op{h.op}, []engine.Result{h.result})
}

// onDisconnect cancels everything that the session waits for. It refunds the tokens of a blocked reply, also of one that
// is still being decided, and the replies behind it in the queue become due earlier.
func (s *Session) onDisconnect() {
	if a := s.pending; a != nil && a.attempt != nil {
		s.env.Logins.Cancel(a.attempt)
	}
	s.stopMonitor()
	if s.wait.has(ForDecision) && s.wait.happenAfter(hangUp, ForDecision) {
		s.refundUndecided()
	}
	h := s.blocked
	if h == nil || !s.env.WaitQueue.Cancel(h.wait) {
		return
	}
	s.blocked = nil
	s.wait.end(ForDueTime)
	s.env.refund(h.op)
}

// refundUndecided refunds the reservations of a batch whose client disconnected before the decision. The later of the two
// events, the decision and the hang-up, brings it about.
func (s *Session) refundUndecided() {
	batch := s.deciding
	for i := range batch.replies {
		r := &batch.replies[i]
		if !r.block || !batch.decision.Results[r.first].Allowed || batch.decision.Results[r.first].Wait <= 0 {
			continue
		}
		op, result := batch.decision.Ops[r.first], &batch.decision.Results[r.first]
		op.Tokens = result.Granted
		// Adding and cancelling a waiter makes the later waiters of the same key due earlier.
		if s.env.WaitQueue.Cancel(s.env.WaitQueue.Add(op, s.env.Clock.Now()+result.Wait, func() {})) {
			s.env.refund(op)
		}
	}
}
