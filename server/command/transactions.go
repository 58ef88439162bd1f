package command

import "github.com/stintdb/stint/server/resp"

var transactionRows = []Row{{
	Name: "multi", Since: "0.1.0", Group: "transactions", Summary: "Queue the commands that follow until EXEC.",
	Flags: Fast | NoMulti | Transaction, Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Begin()) },
}, {
	Name: "exec", Since: "0.1.0", Group: "transactions",
	Summary: "Carry out the queued commands at one instant, with nothing in between.",
	Flags:   NoMulti | Transaction, Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Exec(w) },
}, {
	Name: "discard", Since: "0.1.0", Group: "transactions", Summary: "Drop the queued commands.",
	Flags: Fast | NoMulti | Transaction, Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Discard()) },
}}

func okOrError(w *resp.Writer, err error) {
	if err != nil {
		w.Error(err.Error())
		return
	}
	w.Status("OK")
}
