package conn

import (
	"log/slog"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/wait"
)

// execute takes one command. It reports false if the batch must be answered first: the command must be offered again
// then.
func (s *Session) execute(args [][]byte, batch *commandBatch) (taken bool) {
	row, err := s.public.Find(args)
	if err == nil && row.Run != nil && len(batch.replies) > 0 {
		return false
	}
	if err == nil && s.env.pause.holds(row, &s.multi) {
		if len(batch.replies) == 0 {
			s.env.pause.hold(s)
		}
		return false
	}
	if err != nil && command.IsHTTP(args[0]) {
		s.public.Wait.Begin(wait.ForClose)
		s.env.Registry.LogClosed(slog.LevelWarn,
			"closed a connection that sent an HTTP request; perhaps a web page tried to send commands",
			"client", s.public.ID(), "addr", s.public.Addr())
		return true
	}
	if s.user == nil || !s.user.IsUnlimited() {
		if err = s.permit(row, err); err == nil {
			err = s.access().CheckChannels(row, args)
		}
	}
	if err == nil && row.Run != nil && row.Flags&command.ReadOnly != 0 && s.env.Cluster != nil &&
		s.env.Cluster.AwaitsImport() {
		err = command.ErrImporting
	}
	if s.multi.open && err == nil && row.Flags&command.NotInMulti != 0 {
		err = command.ErrNotInMulti
	}
	if err == nil && !s.client.RESP3 && len(s.subscriptions.Channels()) > 0 && !row.AllowedSubscribed() {
		err = command.ErrSubscribed.With(row.FullName)
	}
	if err == nil && s.env.Monitors.Count() > 0 {
		s.env.Monitors.Show(row, args, s.env.Clock.Now(), s.client.Database, s.public.Addr())
	}
	switch {
	case s.multi.open && (err != nil || row.Flags&command.NoMulti == 0):
		s.queue(row, args, err, batch)
	case err == nil && row.Run != nil:
		s.run(row, args, batch)
	default:
		batch.request.Database = s.client.Database
		if s.multi.open { // only WATCH is neither queued nor has a Run
			err = command.ErrWatchInMulti
		}
		batch.add(s, row, args, err, s.takeReplyMode())
		s.redirect(batch)
		s.markCached(batch, s.public.Cache.Caching())
		if batch.request.Wait != nil {
			s.beginKeyWait(batch, row, args)
		}
	}
	if s.public.Cache.Caching() && !s.multi.open && (row == nil || !row.IsClient()) {
		s.public.Cache.EndCaching()
	}
	return true
}

// resume continues after a wake-up: it writes replies that have become ready, and executes the input that follows.
func (s *Session) resume(batch *commandBatch, cfg *config.Config) (more bool) {
	batch.out.RESP3 = s.client.RESP3
	if s.public.Wait.IsDue(wait.ReplyEvents) {
		s.public.TouchAt(s.started) // it was made to wait, so it was not idle
	}
	if s.public.Wait.IsDue(wait.ForPause) {
		s.public.Wait.End(wait.ForPause)
	}
	if s.public.Wait.IsDue(wait.ForDecision) {
		s.finishDecision(batch)
	}
	if s.public.Wait.IsDue(wait.ForDueTime) {
		s.unblock(batch)
	}
	if s.public.Wait.IsDue(wait.ForAnswer | wait.ForLogin) {
		s.writePending(batch)
	}
	if s.public.Wait.IsDue(wait.ForKey) {
		s.resumeKeyWait(batch)
	}
	if s.backlog != nil {
		s.writeMonitored(batch)
	}
	s.writeInvalidations(batch)
	s.subscriptions.WriteMessages(&batch.out)
	if !s.ready() {
		return false
	}
	if len(s.rest) == 0 {
		s.noteTurn(batch)
		return false
	}
	return s.feed(nil, batch, cfg)
}

// ServeInput is one turn: it executes the bytes that arrived (none after a wake-up) and writes the replies. It reports
// whether the connection must be closed.
func (s *Session) ServeInput(in []byte) (over bool) {
	batch, cfg := s.env.getBatch(), s.env.config()
	defer s.env.putUnlessDeciding(s, batch)
	s.limiterReplied = false
	waited := s.public.Wait.Has(wait.ForTurn)
	s.unpause(cfg)
	more := s.receive(in, batch, cfg)
	for {
		s.env.count(batch)
		s.public.Stats.Sent(len(batch.out.Buf))
		if n := len(batch.out.Buf); n > outputChunk && s.public.OverMemoryLimit(s.bufferBytes(s.conn.Unsent())+n) {
			return true // before the connection keeps a copy, or its client has to be waited for
		}
		wrote := len(batch.out.Buf) > 0
		if wrote {
			write := s.conn.Write
			if !more && s.closesAfterReply() {
				write = s.conn.WriteFinal
			}
			if _, err := write(batch.out.Buf); err != nil {
				return true
			}
			batch.out.Buf = batch.out.Buf[:0]
		}
		unsent := s.conn.Unsent()
		if wrote && dropsUnread(s) && unsent > s.outputBuffer(cfg) {
			s.public.DropSlowReader(unsent)
			return true
		}
		s.pause(unsent, cfg)
		if !more || s.public.Wait.Has(wait.ForReader|wait.ForTurn) {
			break
		}
		more = s.feed(nil, batch, cfg)
	}
	if s.public.Wait.Has(wait.ForTurn) && (!waited || s.turn.HasTurn()) { // this turn has begun the wait
		s.goOnLater()
	}
	unsent := s.conn.Unsent()
	s.updateStats(unsent)
	if s.public.OverMemoryLimit(s.bufferBytes(unsent)) {
		return true
	}
	return s.public.IsKilled() || s.public.Wait.Has(wait.ForClose) || s.shouldClose(unsent)
}

// NewSession returns the session of a connection from a client at addr to laddr.
func (e *Env) NewSession(addr, laddr string, wake func()) *Session {
	n := &Session{public: e.Registry.NewConnection(addr, laddr, wake), env: e}
	n.public.Init()
	n.onDecided = n.decided
	n.turn.Init(&n.public.Wait)
	n.subscriptions.init(n)
	n.resetToDefaultUser()
	n.public.Publish(&n.client)
	return n
}
