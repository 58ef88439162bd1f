package hash

import "github.com/stintdb/stint/server/command"

// The errors of hashes.
var (
	errHashNotInteger = command.DataErrors.Add("ERR hash value is not an integer", "")
	errHashNotFloat   = command.DataErrors.Add("ERR hash value is not a float", "")
	errInfinite       = command.DataErrors.Add("ERR value is NaN or Infinity", "")
)
