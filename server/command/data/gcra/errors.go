package gcra

import "github.com/stintdb/stint/server/command"

// The errors of GCRA, worded as in Redis.
var (
	errOutOfRange      = command.DataErrors.Add("ERR value is out of range, value must between 1 and 9223372036854775807", "")
	errPeriod          = command.DataErrors.Add("ERR period must be > 0 and < 1e12", "")
	errMissingTokens   = command.DataErrors.Add("ERR Missing %s value", "")
	errGCRAOverflow    = command.DataErrors.Add("ERR GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and %s would cause an overflow", "")
	errArrivalTime     = command.DataErrors.Add("ERR Invalid TaT value", "")
	errNegativeArrival = command.DataErrors.Add("ERR Invalid negative TaT value", "")
)
