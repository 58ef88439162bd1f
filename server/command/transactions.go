package command

import "github.com/stintdb/stint/server/resp"

var transactionRows = []Row{{
	Name: "multi", Group: "transactions", Summary: "Queue the commands that follow until EXEC.",
	Returns: "`OK`. The reply to every command until EXEC is then `QUEUED`.",
	Cost:    Light, Flags: Fast | NoMulti | Transaction, Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Begin()) },
}, {
	Name: "exec", Group: "transactions",
	Summary: "Execute the queued commands atomically.",
	Returns: "an array with the reply of each queued command, which may be an error; an error if a command could not be queued.",
	Cost:    Light, Flags: NoMulti | Transaction, Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Exec(w) },
}, {
	Name: "discard", Group: "transactions", Summary: "Drop the queued commands.",
	Returns: "`OK`.",
	Cost:    Light, Flags: Fast | NoMulti | Transaction, Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Discard()) },
}}

func okOrError(w *resp.Writer, err error) {
	if err != nil {
		w.Error(err.Error())
		return
	}
	w.Status("OK")
}
