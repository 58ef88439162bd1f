// Package hash has the commands on hashes.
package hash

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(hashRows, randomRows)
}
