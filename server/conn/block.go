package conn

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/waitqueue"
)

// block keeps a reply back until its wait is over.
func (s *Session) block(r *reply, op engine.Op, result engine.Result) {
	result.Parts = slices.Clone(result.Parts) // the batch's are used again
	h := &blockedReply{row: r.row, shape: r.shape, quiet: r.quiet, op: op, result: result,
		asked: s.env.Keys.Asked(&op), since: s.env.Clock.Now()}
	s.blocked = h
	h.wait = s.env.waitFor(&op, &result, func() {
		s.public.Wait.Happen(wait.ForDueTime)
		s.public.Fanout.Call(1) // with all others that are due now
	})
	// Only now: a test that sees the wait, and moves the clock, must find the reply in the queue.
	s.public.Wait.Begin(wait.ForDueTime)
}

// waitFor queues a granted reservation until it is due. A reservation of several limits is in no key's line: it does
// not become due earlier if a client before it hangs up.
func (e *Env) waitFor(op *engine.Op, result *engine.Result, wake func()) *waitqueue.Waiter {
	due := e.Clock.Now() + result.Wait
	if op.Verb != engine.Acquire {
		return e.WaitQueue.After(due, wake)
	}
	granted := *op
	granted.Tokens = result.Granted
	return e.WaitQueue.Add(granted, due, wake)
}

// unblock writes the reply that was held back.
func (s *Session) unblock(batch *commandBatch) {
	h := s.blocked
	s.blocked, s.limiterReplied = nil, true
	s.public.Wait.End(wait.ForDueTime)
	if h.quiet {
		return
	}
	waited := h.result.Wait
	h.result.Wait = 0
	h.result.Reset = max(0, h.result.Reset-waited)
	for i := range h.result.Parts {
		h.result.Parts[i].Reset = max(0, h.result.Parts[i].Reset-waited)
	}
	batch.out.Shape = h.shape
	h.row.Reply(&batch.out, []engine.Op{h.op}, []engine.Result{h.result})
}
