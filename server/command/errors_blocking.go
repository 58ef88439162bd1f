package command

// The errors of commands that wait.
var (
	errTimeout         = dataErrors.Add("ERR timeout is not a float or out of range", "")
	errTimeoutInteger  = dataErrors.Add("ERR timeout is not an integer or out of range", "")
	errTimeoutNegative = dataErrors.Add("ERR timeout is negative", "")
	errTimeoutRange    = dataErrors.Add("ERR timeout is out of range", "The milliseconds of the timeout are more than 64 bits hold.")
	errManyWaitKeys    = dataErrors.Add("ERR a command waits for at most %d keys, got %d",
		"`BLPOP`, `BRPOP`, `BZPOPMIN` or `BZPOPMAX` with too many keys.")
	// ErrManyWaits is that of a wait for several keys.
	ErrManyWaits = dataErrors.Add("ERR all clients together wait for %d keys, so a command can wait for one key only",
		"A key counts for every client that waits for it. Wait for fewer keys at a time, or for a shorter time.")
)
