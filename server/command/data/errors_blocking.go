package data

import "github.com/stintdb/stint/server/command"

// The errors of commands that wait.
var (
	errTimeout        = command.DataErrors.Add("ERR timeout is not a float or out of range", "")
	errTimeoutRange   = command.DataErrors.Add("ERR timeout is out of range", "")
	errTimeoutInteger = command.DataErrors.Add("ERR timeout is not an integer or out of range", "")
	ErrManyWaitKeys   = command.DataErrors.Add("ERR a command waits for at most %d keys, got %d", "")
)
