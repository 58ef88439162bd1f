// Package data has the commands on data and scripts: strings, hashes, sorted sets, lists and sets as Redis 7.0 has them, so that limiters built from Redis
// commands and scripts run here. A row names the function that carries the command out on a [Call]. The [Executor] calls these functions in the store, on every node of a
// cluster with the same outcome.
package data

import (
	"slices"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// Rows returns the rows of scripts, and of commands that are about no kind of data.
func Rows() []command.Row { return Complete(scriptRows, publishRows, timeRows) }

// Complete joins rows, and makes the Parse and Reply of rows that have a Data alone: one operation, which the store has carried out by an [Executor].
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
			r.Parse = func(q *command.Request) error { return DataOp(q, &own) }
			if r.Waits != limits.NoAlgorithm {
				r.Parse = func(q *command.Request) error { return WaitOp(q, &own) }
			}
		}
		if r.Reply == nil {
			r.Reply = ReplyData
		}
	}
	return rows
}
