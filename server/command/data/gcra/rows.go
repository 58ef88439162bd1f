// Package gcra has the GCRA as Redis's source has it, and its clients send it: see redis/redis#14826. Its keys are data, and no limiter's.
package gcra

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(gcraRows)
}
