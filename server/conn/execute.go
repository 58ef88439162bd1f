package conn

import (
	"log/slog"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// execute takes one command. It reports false if the batch must be answered first: the command must be offered again then.
func (s *Session) execute(args [][]byte, batch *commandBatch) (taken bool) {
	row, err := s.find(args)
	if err == nil && row.Run != nil && len(batch.replies) > 0 {
		return false
	}
	if err != nil && command.IsHTTP(args[0]) {
		s.wait.begin(ForClose)
		s.env.logClosed(slog.LevelWarn, "closed a connection that sent an HTTP request, perhaps a web page's attempt to send commands", "client", s.id, "addr", s.addr)
		return true
	}
	if s.user == nil || !s.user.IsUnlimited() {
		if err = s.permit(row, err); err == nil {
			err = s.permitChannels(row, args)
		}
	}
	if err == nil && row.Run != nil && row.Flags&command.ReadOnly != 0 && s.env.Cluster != nil && s.env.Cluster.AwaitsImport() {
		err = command.ErrImporting
	}
	if s.multi.open && err == nil && row.Flags&command.NotInMulti != 0 {
		err = command.ErrNotInMulti
	}
	if err == nil && s.subscriber != nil && !s.client.RESP3 && len(s.subscriber.Channels()) > 0 && !row.AllowedSubscribed() {
		err = command.ErrSubscribed.With(row.FullName)
	}
	if err == nil && s.env.Monitors.count.Load() > 0 {
		s.feedMonitors(row, args)
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
		if s.tracker.Load() != nil {
			tracked{s}.mark(batch, s.caching)
		}
		if batch.request.Wait != nil {
			keyWaiter{s}.begin(batch, row, args)
		}
	}
	if s.caching && !s.multi.open && (row == nil || !row.IsClient()) {
		s.caching = false
	}
	return true
}

// resume continues after a wake-up: it writes replies that have become ready and executes the input behind them.
func (s *Session) resume(batch *commandBatch, cfg *config.Config) (more bool) {
	batch.out.RESP3 = s.client.RESP3
	if s.wait.isDue(replyEvents) {
		s.lastActive.Store(s.started) // it was made to wait, so it was not idle
	}
	if s.wait.isDue(ForDecision) {
		s.finishDecision(batch)
	}
	if s.wait.isDue(ForDueTime) {
		s.unblock(batch)
	}
	if s.wait.isDue(ForAnswer | ForLogin) {
		s.writePending(batch)
	}
	if s.wait.isDue(ForKey) {
		keyWaiter{s}.goOn(batch)
	}
	if s.monitor != nil {
		s.writeMonitored(batch)
	}
	tracked{s}.write(batch)
	subscriptions{s}.WriteMessages(&batch.out)
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
	waited := s.wait.has(ForTurn)
	s.unpause(cfg)
	more := s.receive(in, batch, cfg)
	for {
		s.env.count(batch)
		s.connStats.sent(len(batch.out.Buf))
		if n := len(batch.out.Buf); n > outputChunk && s.env.Registry.overMemoryLimit(s, s.bufferBytes(s.conn.Unsent())+n) {
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
			s.DropSlowReader(unsent)
			return true
		}
		s.pause(unsent, cfg)
		if !more || s.wait.has(ForReader|ForTurn) {
			break
		}
		more = s.feed(nil, batch, cfg)
	}
	if s.wait.has(ForTurn) && (!waited || s.hasTurn) { // this turn has begun the wait
		s.passes.goOnLater(s)
	}
	unsent := s.conn.Unsent()
	s.updateConnStats(unsent)
	if s.env.Registry.overMemoryLimit(s, s.bufferBytes(unsent)) {
		return true
	}
	return s.killed.Load() || s.wait.has(ForClose) || s.shouldClose(unsent)
}

// NewSession returns the session of a connection from a client at addr to laddr.
func (e *Env) NewSession(addr, laddr string, wake func()) *Session {
	n := &Session{public: public{env: e, addr: addr, laddr: laddr, network: unauthenticated.Network(addr), opened: e.Clock.Now(), wake: wake}}
	n.onDecided, n.share = n.decided, &n.ownShare
	n.initFanout()
	n.resetToDefaultUser()
	n.published.Store(&command.Client{User: n.client.User})
	n.lastActive.Store(n.opened)
	return n
}
