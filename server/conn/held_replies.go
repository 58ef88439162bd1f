package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/waitqueue"
)

// blockedReply is a granted reservation whose reply waits for its time (BLOCK). Until then the
// connection executes nothing else; other connections are not affected.
type blockedReply struct {
	row    *command.Row
	shape  resp.Shape
	quiet  bool
	op     engine.Op
	asked  []engine.Op // the limits of a call for several
	since  int64       // time of the decision
	result engine.Result
	wait   *waitqueue.Waiter
}

// pendingReply is a reply that comes when something outside the session is done. Until then the connection
// executes nothing else.
type pendingReply struct {
	quiet  bool
	finish func(w *resp.Writer) // writes the reply; set before the event

	attempt *loginlimit.Attempt // the login that finishes it, if its turn comes later
}
