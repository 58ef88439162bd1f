// Package set has the commands on sets.
package set

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(setRows, combineRows, randomRows)
}
