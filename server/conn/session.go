package conn

import (
	"sync/atomic"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/keywait"
	"github.com/stintdb/stint/server/conn/registry"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/monitor"
	"github.com/stintdb/stint/server/resp"
)

// Session is the state machine of one connection. It does no I/O: feed takes bytes that arrived and leaves replies in
// the batch; the owner of the connection moves the bytes. All methods but Public and decided are called by one
// goroutine at a time.
type Session struct {
	public         registry.Connection // what other goroutines may use
	env            *Env
	conn           ReplyConn
	rechecking     atomic.Bool // it will be woken while it is paused
	handshakeBytes int         // bytes of a TLS handshake

	// runLater calls f after the other connections of the event loop had their turn; nil if wake does so anyway.
	runLater func(f func())
	turn     share.Member // its part in the passes of its event loop

	subscriptions subscriptions

	reader         resp.Reader
	rest           []byte // input not consumed yet
	replyMode      command.ReplyMode
	silent         bool // drop the reply of the command being run
	client         command.Client
	user           *acl.User // nil before the connection has logged in
	multi          transaction
	watched        *watchedKeys     // nil if there are none
	forwards       bool             // never answers MOVED
	inExec         bool             // the replies of an EXEC are being written
	backlog        *monitor.Backlog // nil unless the connection watches
	failedLogins   int
	limiterReplied bool // a limiter command, in this turn
	scriptReply    int  // the length in bytes of the longest reply of a script among those of the last batches
	shared         bool // it was given to a command, which may have kept it

	started int64 // clock: when the commands of this turn arrived

	// Nanoseconds of this turn spent in commands that were timed separately, or waited; and the number of these
	// commands.
	timed, timedCount int64

	deciding  *commandBatch // a batch the decider has not finished
	onDecided func()        // the Done of every batch, made once
	blocked   *blockedReply // a granted reply that waits for its time
	pending   *pendingReply // a reply that waits for something outside
	keyWait   *keywait.Wait // a command that waits for a key, its attempts under way included
}

// commandSession is a session as its commands see it: it implements [command.Session].
type commandSession struct{ *Session }

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

// Public is what other goroutines may know of the connection, and ask it for.
func (s *Session) Public() *registry.Connection { return &s.public }

// Attach gives a session the connection by which its replies leave. later, if there is one, calls a function after the
// other connections of the event loop had their turn.
func (s *Session) Attach(conn ReplyConn, later func(f func())) { s.conn, s.runLater = conn, later }

// ReplyConn is the way by which a session's replies leave. It belongs to the connection's owner.
type ReplyConn interface {
	Write(b []byte) (int, error)
	// WriteFinal is Write, after which the connection closes: as far as it can be, the client learns of both at once.
	WriteFinal(b []byte) (int, error)
	Unsent() int // bytes written that the client has not taken yet
}
