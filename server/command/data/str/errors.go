package str

import "github.com/stintdb/stint/server/command"

// The errors of strings.
var (
	errDecrementOverflow = command.DataErrors.Add("ERR decrement would overflow", "")
	errNumberInteger     = command.DataErrors.Add("ERR %s is not an integer or out of range", "")
	errNumberFloat       = command.DataErrors.Add("ERR %s is not a valid float", "")
	errIncrementInfinite = command.DataErrors.Add("ERR BYFLOAT increment cannot be Infinity", "")
	errValueInfinite     = command.DataErrors.Add("ERR value cannot be Infinity", "")
	errBoundsCross       = command.DataErrors.Add("ERR LBOUND can't be greater than UBOUND", "")
	errAppliedOverflow   = command.DataErrors.Add("ERR applied increment would overflow", "")
	errAppliedInfinite   = command.DataErrors.Add("ERR applied increment would be Infinity", "")
	errENXAlone          = command.DataErrors.Add("ERR ENX flag requires an expiration", "")
	errOffset            = command.DataErrors.Add("ERR offset is out of range", "")
)
