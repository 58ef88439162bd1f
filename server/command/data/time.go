package data

import (
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var timeRows = []command.Row{{
	Name: "time", Group: "server", Summary: "The server's clock: Unix seconds and microseconds.",
	Returns: "two strings of digits: Unix seconds, and microseconds within the second.",
	Cost:    command.Light, Flags: command.Fast | command.Harmless, Data: Code(timeOfTx), Run: runTime,
}}

func runTime(s command.Session, w *resp.Writer, _ [][]byte) {
	now := time.Unix(0, s.Server().Now())
	w.Array(2)
	w.BulkString(command.FormatInt(now.Unix()))
	w.BulkString(command.FormatInt(int64(now.Nanosecond() / 1000)))
}

func timeOfTx(c *Call) {
	now := c.Tx.OwnTime()
	c.Writer.Array(2)
	c.BulkInt(now / 1e9)
	c.BulkInt(now % 1e9 / 1e3)
}
