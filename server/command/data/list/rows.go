// Package list has the commands on lists.
package list

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(listRows, elementRows, blockingListRows)
}
