package set

import "github.com/stintdb/stint/server/command"

// The errors of sets.
var (
	errFewKeys = command.DataErrors.Add("ERR numkeys should be greater than 0", "")
)
