package server

import (
	"sync/atomic"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
)

// session is the state machine of one connection. It does no I/O: feed takes bytes that arrived and leaves replies in
// the workspace; whoever owns the connection moves the bytes. All methods but those of [waker] are called by one
// goroutine at a time.
type session struct {
	host    *Server
	id      int64
	addr    string
	laddr   string
	opened  int64  // clock
	network string // of addr, see networkOf
	wake    func() // asks the connection's owner to call resume soon; safe from any goroutine
	link    link
	pressure

	reader    resp.Reader
	rest      []byte // input not consumed yet
	replyMode command.ReplyMode
	silent    bool // drop the reply of the command being run
	client    command.Client
	user      *acl.User // nil before the connection has logged in
	multi     transaction
	inExec    bool     // the replies of an EXEC are being written
	monitor   *monitor // nil unless the connection watches
	watches   atomic.Bool
	closing   bool
	answered  bool // a limiter command, in this turn

	started int64 // clock: when what is carried out now arrived

	timed, timedCount int64 // nanoseconds of the turn that commands took which were timed by themselves, and their number

	kept      *workspace // a batch the decider has not finished
	done      atomic.Bool
	onDecided func()      // the Done of every batch, made once
	left      atomic.Bool // the connection was closed while kept was being decided
	settled   atomic.Bool // what that leaves to do has been
	held      *held       // a granted reply that waits for its time
	awaited   *awaited    // a reply that waits for something outside
	waiting   atomic.Bool // held or awaited is set

	// what other connections see of this one
	seen       atomic.Pointer[command.Client]
	loggedIn   atomic.Bool
	killed     atomic.Bool // by CLIENT KILL or the idle timeout
	lastActive atomic.Int64
	lastRow    atomic.Pointer[command.Row]
	taken      footprint
}

const (
	// maxBatchOps is how many operations of a pipeline go to the decider at once.
	maxBatchOps = 1024
	// outputChunk is how many bytes of replies feed collects before it lets them be sent.
	outputChunk = 256 << 10
	// keepRestBytes is the largest input buffer an idle session holds on to.
	keepRestBytes = 4 << 10
)

// arrive is what the connection's owner calls when bytes have come in, or, with none, when the session asked to be woken.
// The result is that of feed.
func (s *session) arrive(in []byte, ws *workspace, cfg *config.Config) (more bool) {
	s.started = s.host.clock.Now()
	if len(in) == 0 || s.kept != nil || s.held != nil || s.awaited != nil {
		more = s.resume(ws, cfg)
	}
	if len(in) > 0 {
		s.lastActive.Store(s.started)
		ws.tally.Bytes(len(in), 0)
		s.taken.received(len(in))
		more = s.feed(in, ws, cfg)
	}
	return more
}

// feed takes input and carries out what it holds. more reports that it stopped early to have the output sent: call it
// again without input.
func (s *session) feed(in []byte, ws *workspace, cfg *config.Config) (more bool) {
	buf := in
	if len(s.rest) > 0 {
		s.rest = append(s.rest, in...)
		buf = s.rest
	}
	s.reader.Limits = s.inputLimits(cfg)
	ws.out.RESP3 = s.client.RESP3
	ws.request.SetBounds(bounds(cfg))
	at := 0
	for s.ready() {
		if len(ws.out.Buf) >= outputChunk {
			more = true
			break
		}
		args, length, err := s.reader.Next(buf[at:])
		if err != nil {
			s.refuse(ws, err)
			break
		}
		if length == 0 {
			s.flush(ws)
			break
		}
		if ws.first == nil {
			ws.first = buf[at : at+length]
		}
		if len(args) > 0 && !s.execute(args, ws) {
			break
		}
		at += length
	}
	if more {
		s.flush(ws)
	}
	s.endTurn(ws)
	s.notePart(len(buf)-at, at)
	s.keepRest(buf[at:], s.queryBuffer(cfg), ws)
	return more && s.ready()
}

// ready reports whether the next command can be carried out.
func (s *session) ready() bool {
	return !s.closing && s.kept == nil && s.held == nil && s.awaited == nil && !s.paused
}

// refuse answers what was asked before and then the error, and closes.
func (s *session) refuse(ws *workspace, err error) {
	if s.flush(ws); !s.ready() {
		return // the bytes stay in rest and are refused once the answers before are out
	}
	ws.out.Error("ERR " + err.Error())
	s.closing = true
}

func (s *session) keepRest(rest []byte, limit int, ws *workspace) {
	switch {
	case s.closing || len(rest) == 0:
		if s.rest = s.rest[:0]; cap(s.rest) > keepRestBytes {
			s.rest = nil
		}
	case len(rest) > limit:
		if s.paused {
			s.dropSlowReader(s.link.Unsent())
		}
		ws.out.Error(command.ErrQueryTooBig.Error())
		s.closing, s.rest = true, nil
	case len(rest) == len(s.rest):
		// nothing was consumed, so nothing moves: a client that sends byte by byte costs no more than it sends
	default:
		s.rest = append(s.rest[:0], rest...) // overlaps only by moving down
	}
}

// execute takes one command. It reports false if the command must be offered again once the session is ready.
func (s *session) execute(args [][]byte, ws *workspace) (taken bool) {
	row, err := s.find(args)
	if err != nil && command.IsHTTP(args[0]) {
		s.flush(ws)
		s.closing = true
		s.host.log.Warn("closed a connection that sent an HTTP request, perhaps a web page's attempt to send commands", "client", s.id)
		return true
	}
	if s.user == nil || !s.user.IsUnlimited() {
		err = s.permit(row, err)
	}
	if s.multi.open && err == nil && row.Flags&command.NotInMulti != 0 {
		err = command.ErrNotInMulti
	}
	if err == nil && s.host.monitors.count.Load() > 0 {
		s.show(row, args)
	}
	if s.multi.open && (err != nil || row.Flags&command.NoMulti == 0) {
		s.queue(row, args, err, ws)
		return true
	}
	if err == nil && row.Run != nil {
		if s.flush(ws); !s.ready() {
			return false
		}
		s.run(row, args, ws)
		return true
	}
	ws.add(s, row, args, err, s.takeReplyMode())
	s.redirect(ws)
	if ws.request.Hold || len(ws.batch.Ops) >= maxBatchOps {
		s.flush(ws)
	}
	return true
}

// takeReplyMode reports whether the command that comes now is to get no reply. SKIP lasts for that one command.
func (s *session) takeReplyMode() (quiet bool) {
	quiet = s.replyMode != command.ReplyOn
	if s.replyMode == command.ReplySkip {
		s.replyMode = command.ReplyOn
	}
	return quiet
}

// find is command.Find with a memory of the command before, which most often comes again.
func (s *session) find(args [][]byte) (*command.Row, error) {
	if last := s.lastRow.Load(); last != nil && last.Is(args) {
		return last, nil
	}
	row, err := command.Find(args)
	if err == nil {
		s.lastRow.Store(row)
	}
	return row, err
}

// run carries out a command that is answered at once.
func (s *session) run(row *command.Row, args [][]byte, ws *workspace) {
	mark := len(ws.out.Buf)
	s.silent = s.takeReplyMode()
	if row.Flags&command.Fast != 0 {
		row.Run(s, &ws.out, args)
	} else {
		s.runTimed(row, args, ws)
	}
	ws.tally.Command(row.Number, isError(ws.out.Buf, mark))
	s.publish()
	if s.silent {
		ws.out.Buf, s.silent = ws.out.Buf[:mark], false
	}
	s.closeIfKilled()
}

// closeIfKilled has a connection that killed itself carry out nothing more.
func (s *session) closeIfKilled() { s.closing = s.closing || s.killed.Load() }

// publish shows other connections what has changed about this one.
func (s *session) publish() {
	if s.client != *s.seen.Load() {
		seen := s.client
		s.seen.Store(&seen)
	}
}

// decided is the Done of this session's batches; it may run on any goroutine.
func (s *session) decided() {
	s.done.Store(true)
	if s.left.Load() {
		s.host.late.run(s.settle) // which decides: not for the goroutine of whoever has just decided
	}
	s.wake()
}

// resume goes on after a wake: it writes what has become ready and carries out the input that waited behind it.
func (s *session) resume(ws *workspace, cfg *config.Config) (more bool) {
	ws.out.RESP3 = s.client.RESP3
	if s.kept != nil && s.done.Load() {
		kept := s.kept
		s.kept = nil
		s.done.Store(false)
		s.answer(kept, ws)
		ws.first = kept.kept.command
		s.record(ws, kept.started)
		ws.first = nil
		s.publish()
		s.closeIfKilled()
		s.host.giveBack(kept)
	}
	if s.held != nil && s.held.over.Load() {
		s.release(ws)
	}
	if s.awaited != nil && s.awaited.over.Load() {
		s.finishAwaited(ws)
	}
	if s.monitor != nil {
		s.takeMonitored(ws)
	}
	if !s.ready() {
		return false
	}
	return s.feed(nil, ws, cfg)
}
