package server

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// transaction is what a session collects between MULTI and EXEC.
type transaction struct {
	open   bool
	broken bool // a command could not be queued: EXEC aborts
	queued []queuedCommand
	bytes  int
}

type queuedCommand struct {
	row  *command.Row
	args [][]byte
}

// maxQueuedCommands bounds a transaction, beside the query buffer's bound on its bytes.
const maxQueuedCommands = 10_000

// queue keeps a copy of a command for EXEC, or notes why it can't be.
func (s *session) queue(row *command.Row, args [][]byte, err error, ws *workspace) {
	mark, quiet := len(ws.out.Buf), s.takeReplyMode()
	for _, a := range args {
		s.multi.bytes += len(a) + 24 // and its slice
	}
	if err == nil && (len(s.multi.queued) >= maxQueuedCommands || s.multi.bytes > s.host.Config().QueryBufferBytes) {
		err = command.ErrMultiTooLong
	}
	if err == nil && !s.user.IsUnlimited() {
		err = s.permitQueued(row, args)
	}
	if err == nil {
		err = s.redirectQueued(row, args)
	}
	if err != nil {
		s.multi.broken, s.multi.queued = true, nil
		ws.out.Error(err.Error())
	} else {
		if !s.multi.broken {
			s.multi.queued = append(s.multi.queued, queuedCommand{row, copyOf(args)})
		}
		ws.out.Status("QUEUED")
	}
	if quiet {
		ws.out.Buf = ws.out.Buf[:mark]
	}
}

func copyOf(args [][]byte) [][]byte {
	copied := make([][]byte, len(args))
	for i, a := range args {
		copied[i] = bytes.Clone(a)
	}
	return copied
}

// Begin implements [command.Session].
func (s *session) Begin() error {
	if s.multi.open {
		return command.ErrNestedMulti
	}
	s.multi = transaction{open: true}
	return nil
}

// Discard implements [command.Session].
func (s *session) Discard() error {
	if !s.multi.open {
		return command.ErrDiscardNoMult
	}
	s.multi = transaction{}
	return nil
}

// Exec implements [command.Session]: the queued commands' operations are decided as one atomic batch. A BLOCK among
// them does not wait, as in Redis: it is granted now or denied.
func (s *session) Exec(w *resp.Writer) {
	multi := s.multi
	s.multi = transaction{}
	switch {
	case !multi.open:
		w.Error(command.ErrExecNoMulti.Error())
		return
	case multi.broken:
		w.Error(command.ErrExecAbort.Error())
		return
	case len(multi.queued) == 0:
		w.Array(0)
		return
	}
	ws := s.host.borrow()
	ws.out.Buf, w.Buf = w.Buf, ws.out.Buf // the replies go where w's do
	ws.out.RESP3 = w.RESP3
	ws.exec, ws.batch.Atomic = true, true
	ws.request.SetBounds(bounds(s.host.Config()))
	for _, q := range multi.queued {
		var err error
		if !s.user.IsUnlimited() { // the user's rights may have changed since
			err = s.permitCommand(q.row)
		}
		if q.row.Run != nil && err == nil {
			ws.replies = append(ws.replies, reply{row: q.row, args: q.args, quiet: s.silent})
			continue
		}
		ws.add(s, q.row, q.args, err, s.silent)
		if last := &ws.replies[len(ws.replies)-1]; last.hold {
			last.hold = false
			ws.batch.Ops[last.first].MaxWait = engine.NoWait
		}
	}
	if s.redirectExec(ws, &ws.out) {
		ws.clear()
	}
	s.flush(ws)
	s.record(ws, s.started)
	ws.out.Buf, w.Buf = w.Buf, ws.out.Buf
	s.host.release(s, ws)
}
