// Package gcra has the commands of Redis's own rate limiter, see redis/redis#14826. To Stint, its keys are data, not
// limiters.
package gcra

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row {
	return data.Complete(gcraRows)
}
