// Package stream has the commands on streams, as far as queues need them: there are no consumer groups.
package stream

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// since is the first version that has streams.
const since = "0.3.0"

// Rows returns the rows of the commands, in the order of the handbook.
func Rows() []command.Row { return data.Complete(changeRows, rangeRows, readRows, infoRows) }
