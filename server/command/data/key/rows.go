// Package key has the commands on keys of any kind, which Redis calls generic, and on databases.
package key

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(keyRows, databaseRows, expireRows, renameRows, objectRows)
}
