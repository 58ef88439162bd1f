// Package str has the commands on strings.
package str

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(stringRows, increxRows, readAndChangeRows, substringRows)
}
