// Package data runs the commands on data as Redis 7.0 has them, and scripts, so that limiters built from Redis commands
// and scripts run here. The commands themselves are in the packages below, one for each kind of data.
//
// A row names the function that carries the command out on a [Call]. The [Executor] calls this function in the store,
// on every node of a cluster, and on each with the same result.
package data

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// Rows returns the rows of scripts, and of the commands PUBLISH and TIME, which scripts use too.
func Rows() []command.Row { return Complete(scriptRows, publishRows, timeRows) }

// Complete joins rows. Rows with nothing but Data get a Parse, which makes one operation for an [Executor], and a
// Reply.
func Complete(families ...[]command.Row) []command.Row {
	rows := slices.Concat(families...)
	for i := range rows {
		r := &rows[i]
		r.Sub = Complete(r.Sub)
		if r.Data == 0 || r.Run != nil {
			continue
		}
		if r.Parse == nil {
			own := *r
			r.Parse = func(q *command.Request) error { return ParseOp(q, &own) }
			if r.Waits != engine.NoKind {
				r.Parse = func(q *command.Request) error { return ParseWait(q, &own) }
			}
		}
		if r.Reply == nil {
			r.Reply = ReplyData
		}
	}
	return rows
}
