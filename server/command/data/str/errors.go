package str

import "github.com/stintdb/stint/server/command"

// The errors of strings.
var (
	errDecrementOverflow = command.DataErrors.Add("ERR decrement would overflow", "")
	errNumberInteger     = command.DataErrors.Add("ERR %s is not an integer or out of range", "An argument of `INCREX`.")
	errNumberFloat       = command.DataErrors.Add("ERR %s is not a valid float", "An argument of `INCREX`.")
	errIncrementInfinite = command.DataErrors.Add("ERR BYFLOAT increment cannot be Infinity", "")
	errValueInfinite     = command.DataErrors.Add("ERR value cannot be Infinity", "`INCREX` with `BYFLOAT` of a key that holds infinity.")
	errBoundsCross       = command.DataErrors.Add("ERR LBOUND can't be greater than UBOUND", "")
	errAppliedOverflow   = command.DataErrors.Add("ERR applied increment would overflow", "`INCREX` with `SATURATE`: the distance to the bound does not fit in 64 bits.")
	errAppliedInfinite   = command.DataErrors.Add("ERR applied increment would be Infinity", "The same with `BYFLOAT`.")
	errENXAlone          = command.DataErrors.Add("ERR ENX flag requires an expiration", "")
	errOffset            = command.DataErrors.Add("ERR offset is out of range", "")
)
