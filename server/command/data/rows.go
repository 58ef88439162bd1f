// Package data has the commands on data and scripts: strings, hashes, sorted sets, lists and sets as Redis 7.0 has them, so that limiters built from Redis
// commands and scripts run here. A row names the function that carries the command out on a [Call]. The [Executor] calls these functions in the store, on every node of a
// cluster with the same outcome.
package data

import (
	"slices"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// Rows returns the rows of the commands on data and scripts, in the order of the handbook.
func Rows() []command.Row {
	return complete(slices.Concat(
		keyRows,
		databaseRows,
		expireRows, renameRows, objectRows,
		stringRows, increxRows, readAndChangeRows, substringRows,
		hashRows,
		sortedSetRows, placeRows, popRows, blockingSortedSetRows, combineScoredRows,
		listRows, elementRows, blockingListRows,
		setRows, combineRows,
		gcraRows,
		randomRows, scanRows,
		scriptRows,
		publishRows,
		timeRows,
	))
}

// complete makes the Parse and Reply of rows that have a Data alone: one operation, which the store has carried out by an [Executor].
func complete(rows []command.Row) []command.Row {
	for i := range rows {
		r := &rows[i]
		complete(r.Sub)
		if r.Data == 0 || r.Run != nil {
			continue
		}
		if r.Parse == nil {
			own := *r
			r.Parse = func(q *command.Request) error { return dataOp(q, &own) }
			if r.Waits != limits.NoAlgorithm {
				r.Parse = func(q *command.Request) error { return waitOp(q, &own) }
			}
		}
		if r.Reply == nil {
			r.Reply = replyData
		}
	}
	return rows
}
