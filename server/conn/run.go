package conn

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/slowlog"
)

// run executes a command that is answered at once.
func (s *Session) run(row *command.Row, args [][]byte, batch *commandBatch) {
	mark := len(batch.out.Buf)
	s.turn.Charge(row.Work())
	s.shared = true
	s.silent = s.takeReplyMode()
	if row.Flags&command.Fast != 0 {
		row.Run(commandSession{s}, &batch.out, args)
	} else {
		s.runTimed(row, args, batch)
	}
	batch.tally.Command(row.Number, isError(batch.out.Buf, mark))
	s.public.Publish(&s.client)
	if s.silent {
		batch.out.Buf, s.silent = batch.out.Buf[:mark], false
	}
	s.public.StopIfKilled()
}

// runTimed executes a command that may be slow, and measures it separately.
func (s *Session) runTimed(row *command.Row, args [][]byte, batch *commandBatch) {
	start := s.env.Clock.Now()
	row.Run(commandSession{s}, &batch.out, args)
	end := s.env.Clock.Now()
	nanos := end - start
	s.timed += nanos
	s.timedCount++
	if s.deciding != nil { // EXEC, whose turn ends with the decision
		return
	}
	s.noteLatency(end, nanos, true, func() []string { return slowlog.Args(args) })
}

// takeReplyMode reports whether the command that comes now is to get no reply. SKIP lasts for that one command.
func (s *Session) takeReplyMode() (quiet bool) {
	quiet = s.replyMode != command.ReplyOn
	if s.replyMode == command.ReplySkip {
		s.replyMode = command.ReplyOn
	}
	return quiet
}
