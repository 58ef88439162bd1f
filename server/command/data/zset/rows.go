// Package zset has the commands on sorted sets.
package zset

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(sortedSetRows, placeRows, popRows, blockingSortedSetRows, combineScoredRows, randomRows)
}
