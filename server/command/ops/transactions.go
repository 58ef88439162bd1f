package ops

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var transactionRows = []command.Row{{
	Name: "multi", Group: "transactions", Summary: "Queue the commands that follow until EXEC.",
	Returns: "`OK`. The reply to every command until EXEC is then `QUEUED`.",
	Cost:    command.Light, Flags: command.Fast | command.NoMulti | command.Transaction, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Begin()) },
}, {
	Name: "exec", Group: "transactions",
	Summary: "Execute the queued commands atomically.",
	Returns: "an array with the reply of each queued command, which may be an error; an error if a command could not be queued.",
	Cost:    command.Light, Flags: command.NoMulti | command.Transaction, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { s.Exec(w) },
}, {
	Name: "discard", Group: "transactions", Summary: "Drop the queued commands.",
	Returns: "`OK`.",
	Cost:    command.Light, Flags: command.Fast | command.NoMulti | command.Transaction, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Discard()) },
}, {
	Name: "watch", Syntax: "key ...", Group: "transactions", Since: "0.2.0",
	Summary: "Make the next EXEC do nothing if one of the keys has changed by then. The keys' states are compared, including expiries, so a key that has " +
		"its old state again counts as unchanged. A limiter also counts as unchanged if only lent tokens of it were spent.",
	Returns: "`OK`; EXEC replies null if a key has changed. A connection watches at most 1024 keys.", Example: "alice:1",
	Cost: command.ValuePass, Flags: command.ReadOnly | command.Fast | command.NoMulti | command.Transaction,
	KeyFlags: "RO", Keys: command.ReadKeys, Parse: command.EachKey(engine.Fingerprint), Reply: command.ReplyOK,
}, {
	Name: "unwatch", Group: "transactions", Summary: "Stop watching keys, as EXEC and DISCARD do.", Since: "0.2.0",
	Returns: "`OK`.",
	Cost:    command.Light, Flags: command.Fast | command.Transaction, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { s.Unwatch(); w.Status("OK") },
}}

func okOrError(w *resp.Writer, err error) {
	if err != nil {
		w.Error(err.Error())
		return
	}
	w.Status("OK")
}
