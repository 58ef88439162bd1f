package command

import (
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/server/resp"
)

var dataErrors = resp.ErrorSection{Heading: "Redis data and scripts", Before: "The texts are those of Redis 7.0, unless a bound of Stint's is the reason. Within a script the text of a command's error has the script's digest and line added, and other errors of scripts are those of Redis's Lua.\n"}

// The errors of this section.
var (
	errDataType = dataErrors.Add("WRONGTYPE Operation against a key holding the wrong kind of value",
		"The key holds another kind of data, or a limiter. Give each its own keys, or `DEL` the key first.")
	errValueTooBig = dataErrors.Add("ERR value: at most %d bytes in one key, got %d",
		"The value, or the hash, list or set as a whole, would be larger than Stint keeps in one key. Nothing was changed.")
	errReplyTooBig = dataErrors.Add("ERR reply: more than %d bytes; ask for fewer values at once",
		"`HMGET` of large values, or of the same ones over and over.")
	errSetsTooBig = dataErrors.Add("ERR sets: at most %d bytes in the sets of one command, got more",
		"`SDIFFSTORE` or `SUNIONSTORE` of sets that are too large together. Nothing was changed.")
	errNotPositive = dataErrors.Add("ERR value is out of range, must be positive",
		"The count of `LPOP` is negative, or no integer.")
	errExpireTime = dataErrors.Add("ERR invalid expire time in '%s' command",
		"The time to live is 0, negative, or beyond 64 bits of milliseconds.")
	errOverflow = dataErrors.Add("ERR increment or decrement would overflow",
		"The sum does not fit 64 bits. Nothing was changed.")
	errHashNotInteger = dataErrors.Add("ERR hash value is not an integer",
		"`HINCRBY` of a field that holds no integer.")
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
	errNoScript = dataErrors.Add("NOSCRIPT No matching script. Please use EVAL.",
		"The script was never loaded, or `SCRIPT FLUSH` forgot it. Client libraries send the script itself then.")
	errManyScripts = dataErrors.Add("ERR too many scripts: at most %d are kept, of at most %d bytes each and 32 MiB in all",
		"Scripts with values in their texts? Give the values as arguments. `SCRIPT FLUSH` forgets all.")
	_ = dataErrors.Add(script.BudgetError,
		"The script was ended, and what it had written before stays, as after any error of a script. Do less in one script; a loop over all keys is none for a script.")
	errNotBusy = dataErrors.Add("NOTBUSY No scripts in execution right now.",
		"The answer to `SCRIPT KILL`: a script ends by itself after its budget of steps.")
	errNegativeKeys = dataErrors.Add("ERR Number of keys can't be negative",
		"The number behind the script, or its digest, is that of its keys.")
	errManyScriptKeys = dataErrors.Add("ERR Number of keys can't be greater than number of args",
		"The number behind the script, or its digest, is that of its keys.")
	errScriptFlush = dataErrors.Add("ERR SCRIPT FLUSH only support SYNC|ASYNC option",
		"Another word behind `SCRIPT FLUSH`.")
	errUnknownInScript = dataErrors.Add("ERR Unknown Redis command called from script",
		"Stint has the commands that limiters use: [commands.md](commands.md).")
	errArityInScript = dataErrors.Add("ERR Wrong number of args calling Redis command from script",
		"A command of the script has too few or too many arguments.")
	errNotInScript = dataErrors.Add("ERR This Redis command is not allowed from script",
		"The command is about the connection or the server, asks several limits or a policy, or runs scripts itself.")
	errWriteInReadOnly = dataErrors.Add("ERR Write commands are not allowed from read-only scripts.",
		"A script called by `EVAL_RO` or `EVALSHA_RO`, or on a connection after `READONLY`, writes.")
	errNoCommandInScript = dataErrors.Add("ERR The user executing the script can't run this command or subcommand",
		"The user may run scripts, but not a command that this one calls: `ACL SETUSER name +command`.")
	errNoKeyInScript = dataErrors.Add("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
		"The user may not use all keys. The scripts of such a user may use the keys that they declare, and no others.")
	errManyKeysInScript = dataErrors.Add("ERR a script looks at no more than %d keys: use SCAN from outside",
		"`KEYS`, `SCAN` or `DBSIZE` in a script holds up everybody while it looks at all keys.")
	errNoSuchKey = dataErrors.Add("ERR no such key",
		"`RENAME` of a key that does not exist.")
)
