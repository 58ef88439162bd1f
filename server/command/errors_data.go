package command

import "github.com/stintdb/stint/server/resp"

var dataErrors = resp.ErrorSection{Heading: "Redis data and scripts", Before: "The texts are those of Redis 7.0, unless a bound of Stint's is the reason.\n"}

// The errors of this section.
var (
	errDataType = dataErrors.Add("WRONGTYPE Operation against a key holding the wrong kind of value",
		"The key holds another kind of data, or a limiter. Give each its own keys, or `DEL` the key first.")
	errValueTooBig = dataErrors.Add("ERR value: at most %d bytes in one key, got %d",
		"The value, or the hash, list or set as a whole, would be larger than Stint keeps in one key. Nothing was changed.")
	errExpireTime = dataErrors.Add("ERR invalid expire time in '%s' command",
		"The time to live is 0, negative, or beyond 64 bits of milliseconds.")
	errOverflow = dataErrors.Add("ERR increment or decrement would overflow",
		"The sum does not fit 64 bits. Nothing was changed.")
	errDecrementOverflow = dataErrors.Add("ERR decrement would overflow",
		"`DECRBY` by -9223372036854775808.")
	errNotFloat = dataErrors.Add("ERR value is not a valid float",
		"The value, or the increment, is no number.")
	errNaN = dataErrors.Add("ERR increment would produce NaN or Infinity",
		"The sum is not a finite number. Nothing was changed.")
	errExpireNX = dataErrors.Add("ERR NX and XX, GT or LT options at the same time are not compatible",
		"`EXPIRE` with options that contradict each other.")
	errExpireGTLT = dataErrors.Add("ERR GT and LT options at the same time are not compatible",
		"`EXPIRE` with options that contradict each other.")
	errUnsupportedOption = dataErrors.Add("ERR Unsupported option %s",
		"`EXPIRE` takes NX, XX, GT and LT.")
	errNoSuchKey = dataErrors.Add("ERR no such key",
		"`RENAME` of a key that does not exist.")
)
