package conn

import (
	"log/slog"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/resp"
)

// Session is the state machine of one connection. It does no I/O: feed takes bytes that arrived and leaves replies in
// the batch; the owner of the connection moves the bytes. All methods but those of public, and decided, are called by one
// goroutine at a time.
type Session struct {
	public
	conn ReplyConn
	backpressure

	runLater func(f func()) // calls f after the other connections of the event loop had their turn; nil if wake does so anyway

	reader         resp.Reader
	rest           []byte // input not consumed yet
	replyMode      command.ReplyMode
	silent         bool // drop the reply of the command being run
	client         command.Client
	user           *acl.User // nil before the connection has logged in
	multi          transaction
	forwards       bool               // never answers MOVED
	inExec         bool               // the replies of an EXEC are being written
	monitor        *monitor           // nil unless the connection watches
	subscriber     *pubsub.Subscriber // nil if the connection never subscribed
	failedLogins   int
	limiterReplied bool // a limiter command, in this turn
	shared         bool // it was given to a command, which may have kept it
	work           int  // of this turn, in units of engine.Result.Work

	started int64 // clock: when the commands of this turn arrived

	timed, timedCount int64 // nanoseconds of this turn spent in commands that were timed separately, and their number

	deciding  *commandBatch // a batch the decider has not finished
	onDecided func()        // the Done of every batch, made once
	blocked   *blockedReply // a granted reply that waits for its time
	pending   *pendingReply // a reply that waits for something outside
}

const (
	// MaxBatchOps is how many operations of a pipeline go to the decider at once.
	MaxBatchOps = 1024
	// MaxBatchBytes is about how many bytes of commands go to the decider at once. A cluster bounds the size of
	// one proposal, and a pipeline must not exceed it where none of its commands does.
	MaxBatchBytes = 4 << 20
	// outputChunk is how many bytes of replies feed collects before it lets them be sent.
	outputChunk = 256 << 10
	// KeepRestBytes is the largest input buffer an idle session holds on to.
	KeepRestBytes = 4 << 10
)

// NewSession returns the session of a connection from a client at addr to laddr.
func (e *Env) NewSession(addr, laddr string, wake func()) *Session {
	n := &Session{public: public{env: e, addr: addr, laddr: laddr, network: unauthenticated.Network(addr), opened: e.Clock.Now(), wake: wake}}
	n.onDecided = n.decided
	n.resetToDefaultUser()
	n.published.Store(&command.Client{User: n.client.User})
	n.lastActive.Store(n.opened)
	return n
}

// Attach gives a session the connection by which its replies leave. later, if there is one, calls a function after the
// other connections of the event loop had their turn.
func (s *Session) Attach(conn ReplyConn, later func(f func())) { s.conn, s.runLater = conn, later }

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
		batch.add(s, row, args, err, s.takeReplyMode())
		s.redirect(batch)
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
	if s.monitor != nil {
		s.writeMonitored(batch)
	}
	subscriptions{s}.WriteMessages(&batch.out)
	if !s.ready() {
		return false
	}
	return s.feed(nil, batch, cfg)
}
