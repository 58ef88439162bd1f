package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// flush has the batch decided and writes the replies, unless the decider needs longer.
func (s *Session) flush(batch *commandBatch) {
	if len(batch.replies) == 0 {
		return
	}
	b := &batch.decision
	if len(b.Ops) > 0 {
		if cap(b.Results) < len(b.Ops) {
			b.Results = make([]engine.Result, len(b.Ops), max(64, 2*len(b.Ops)))
		}
		b.Results = b.Results[:len(b.Ops)]
		b.Local = s.client.ReadOnly
		b.Done = s.onDecided
		if !s.env.Decider.Decide(b) {
			s.deciding, batch.started = batch, s.started
			s.wait.begin(ForDecision)
			batch.copiedKeys.copyFrom(b.Ops, batch.first)
			return
		}
	}
	s.writeReplies(batch, batch)
}

// writeReplies writes the replies of a decided batch to out.
func (s *Session) writeReplies(batch, out *commandBatch) {
	s.limiterReplied = s.limiterReplied || len(batch.decision.Ops) > 0
	w := &out.out
	start := len(w.Buf)
	s.work += engine.OpWork * len(batch.decision.Ops)
	for i := range batch.decision.Results {
		s.work += batch.decision.Results[i].Work
	}
	if batch.exec && s.writeUndecided(batch, out) {
		return
	}
	if batch.exec && !batch.replies[0].quiet {
		w.Array(len(batch.replies))
	}
	s.inExec = batch.exec
	s.env.TopKeys.Follow(&out.sampler)
	for i := range batch.replies {
		r := &batch.replies[i]
		mark := len(w.Buf)
		s.writeReply(r, batch.decision.Ops[r.first:r.first+r.count], batch.decision.Results[r.first:r.first+r.count], out)
		s.count(r, batch, out, isError(w.Buf, mark))
		if r.quiet {
			w.Buf = w.Buf[:mark]
		}
		if batch.exec && len(w.Buf)-start > s.env.config().OutputBufferBytes {
			w.Buf = w.Buf[:start]
			w.Error(command.ErrExecTooBig.Error())
			break
		}
	}
	s.inExec = false
	if len(w.Buf)-start > outputChunk {
		batch.decision.Results = nil // they hold lists as long, and would keep the room for them
	}
	batch.clear()
}

func (s *Session) writeReply(r *reply, ops []engine.Op, results []engine.Result, out *commandBatch) {
	switch {
	case r.err != nil:
		out.out.Error(r.err.Error())
	case r.args != nil:
		s.work += r.row.Work()
		r.row.Run(commandSession{s}, &out.out, r.args)
	case command.Undecided(ops, results) != engine.OK:
		out.out.Error(s.env.undecided(command.Undecided(ops, results), int(r.slot), ops))
	case r.block && results[0].Allowed && results[0].Wait > 0:
		s.block(r, ops[0], results[0])
	default:
		r.row.Reply(&out.out, ops, results)
	}
}
