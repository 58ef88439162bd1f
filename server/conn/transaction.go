package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/ops"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/resp"
)

// Bounds of a transaction.
const (
	MaxQueuedCommands = 10_000 // bounds a transaction, beside the query buffer's bound on its bytes
	QueuedWordBytes   = 24     // that a word counts beside its bytes: its slice
)

// queue keeps a copy of a command for EXEC, or notes why it cannot.
func (s *Session) queue(row *command.Row, args [][]byte, err error, batch *commandBatch) {
	mark, quiet := len(batch.out.Buf), s.takeReplyMode()
	for _, a := range args {
		s.multi.bytes += len(a) + QueuedWordBytes
	}
	if err == nil && (len(s.multi.queued) >= MaxQueuedCommands || s.multi.bytes > s.env.config().QueryBufferBytes) {
		err = command.ErrMultiTooLong
	}
	if err == nil {
		err = s.checkQueued(row, args)
	}
	if err != nil {
		s.multi.broken, s.multi.queued, s.multi.memoryBytes = true, nil, 0
		batch.out.Error(err.Error())
	} else {
		if !s.multi.broken {
			s.multi.queued = append(s.multi.queued, queuedCommand{row, copyOf(args)})
			s.multi.memoryBytes += queuedBytes(args)
		}
		batch.out.Status("QUEUED")
	}
	if quiet {
		batch.out.Buf = batch.out.Buf[:mark]
	}
}

// checkQueued returns why EXEC would not execute a command: for its keys, or because it belongs to another node. EXEC
// returns errors in the arguments.
func (s *Session) checkQueued(row *command.Row, args [][]byte) error {
	redirects := s.env.Redirect && !s.forwards
	if row.Parse == nil || s.user.IsUnlimited() && !redirects {
		return nil
	}
	r := command.Request{Args: args}
	r.SetBounds(Bounds(s.env.config()))
	if row.Parse(&r) != nil || len(r.Ops) == 0 {
		return nil
	}
	if err := s.access().CheckKeys(r.Ops); err != nil {
		return err
	}
	if !redirects {
		return nil
	}
	if leader, redirect := s.redirects(r.Ops); redirect {
		return command.UndecidedError(engine.Moved, command.SlotOf(&r.Ops[0]), leader)
	}
	return nil
}

// Begin implements [command.Session].
func (s commandSession) Begin() error {
	if s.multi.open {
		return command.ErrNestedMulti
	}
	s.multi = transaction{open: true}
	return nil
}

// Discard implements [command.Session].
func (s commandSession) Discard() error {
	if !s.multi.open {
		return command.ErrDiscardNoMult
	}
	s.multi, s.watched = transaction{}, nil
	return nil
}

// Exec implements [command.Session]: the queued commands' operations are decided as one atomic batch. A BLOCK among
// them does not wait, as in Redis: it is granted now or denied.
func (s commandSession) Exec(w *resp.Writer) {
	if !s.multi.open {
		w.Error(command.ErrExecNoMulti.Error())
		return
	}
	multi, watched := s.multi, s.watched
	s.multi, s.watched = transaction{}, nil
	switch {
	case multi.broken:
		w.Error(command.ErrExecAbort.Error())
		return
	case watched != nil && watched.lost:
		w.NullArray()
		return
	case len(multi.queued) == 0 && watched == nil:
		w.Array(0)
		return
	}
	batch := s.env.getBatch()
	batch.out.Buf, w.Buf = w.Buf, batch.out.Buf // the replies go where w's do
	batch.out.RESP3 = w.RESP3
	batch.exec, batch.quiet, batch.decision.Atomic = true, s.silent, true
	batch.first = execCommand
	batch.request.SetBounds(Bounds(s.env.config()))
	batch.request.Database = s.client.Database
	caching := s.public.Cache.Caching()
	if watched != nil {
		batch.decision.Ops = append(batch.decision.Ops, watched.expect)
		batch.weight = command.MaxExecWork + 1 // so that it is weighed
	}
	for _, q := range multi.queued {
		if !batch.addQueued(s.Session, q.row, q.args) {
			caching = caching || q.row.FullName == command.ClientCaching && ops.SetsCaching(&s.public.Cache, q.args) == nil
		} else {
			s.markCached(batch, caching)
		}
	}
	switch {
	case s.redirectExec(batch, &batch.out):
		batch.clear()
	case batch.isTooCostly(s.env.Keys):
		batch.out.Error(command.ErrExecTooCostly.Error())
		batch.clear()
	}
	s.flush(batch)
	s.record(batch, s.started)
	batch.out.Buf, w.Buf = w.Buf, batch.out.Buf
	s.env.putUnlessDeciding(s.Session, batch)
}

// addQueued adds a command of a transaction to its batch. It reports whether the command has operations, or an error in
// place of them.
func (batch *commandBatch) addQueued(s *Session, row *command.Row, args [][]byte) (isDecided bool) {
	var err error
	if !s.user.IsUnlimited() { // the user's rights may have changed since
		if err = s.access().CheckCommand(row); err == nil {
			err = s.access().CheckChannels(row, args)
		}
	}
	if row.Run == nil || err != nil {
		batch.add(s, row, args, err, s.silent)
		return true
	}
	if number, ok := row.SelectsDatabase(args, commandSession{s}.Databases()); ok { // for the commands after it
		batch.request.Database = number
	}
	batch.replies = append(batch.replies, reply{row: row, args: args, quiet: s.silent})
	return false
}

// execCommand is EXEC in RESP, by which the slow log names a transaction.
var execCommand = []byte("*1\r\n$4\r\nEXEC\r\n")

// isTooCostly reports whether a transaction would take too long at one stretch. It compares the commands' declared
// costs first, and only where they are too high the cost with the keys as they are.
func (batch *commandBatch) isTooCostly(keys localstore.Requests) bool {
	atOnce := 0
	for i := range batch.replies {
		if r := &batch.replies[i]; r.args != nil {
			atOnce += r.row.Work()
		}
	}
	if atOnce+batch.weight <= command.MaxExecWork {
		return false
	}
	return atOnce+keys.Weigh(batch.decision.Ops) > command.MaxExecWork
}

// Unwatch implements [command.Session].
func (s commandSession) Unwatch() { s.watched = nil }

// noteWatch begins to watch the keys of a WATCH, unless that failed. It returns the error of the reply.
func noteWatch(s *Session, batch *commandBatch, r *reply, err error) error {
	if s.watched == nil {
		s.watched = &watchedKeys{}
	}
	return s.watched.watch(batch, r, s.env.config().QueryBufferBytes, err)
}
