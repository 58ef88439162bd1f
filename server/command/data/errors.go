package data

import (
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/server/command"
)

// The errors of [command.DataErrors].
var (
	errValueTooBig = command.DataErrors.Add("ERR value: at most %d bytes in one key, got %d",
		"The value, or the hash, list or set as a whole, would be larger than Stint keeps in one key. Nothing was changed.")
	errReplyTooBig = command.DataErrors.Add("ERR reply: more than %d bytes; ask for fewer values at once",
		"")
	errSetsTooBig = command.DataErrors.Add("ERR sets: at most %d bytes in the sets of one command, got more",
		"Sets that one command combines, such as `SUNIONSTORE`, are too large together. Nothing was changed.")
	errManyMembers = command.DataErrors.Add("ERR sets: at most %d members in the sets of one command, got more",
		"Sets that one command combines, such as `SUNIONSTORE` or `ZUNION`, have too many members together: it would hold others up. Nothing was changed.")
	errNotPositive       = command.DataErrors.Add("ERR value is out of range, must be positive", "")
	errExpireTime        = command.DataErrors.Add("ERR invalid expire time in '%s' command", "")
	errOverflow          = command.DataErrors.Add("ERR increment or decrement would overflow", "")
	errHashNotInteger    = command.DataErrors.Add("ERR hash value is not an integer", "")
	errDecrementOverflow = command.DataErrors.Add("ERR decrement would overflow", "")
	errNotFloat          = command.DataErrors.Add("ERR value is not a valid float", "")
	errHashNotFloat      = command.DataErrors.Add("ERR hash value is not a float", "")
	errInfinite          = command.DataErrors.Add("ERR value is NaN or Infinity", "")
	errNaN               = command.DataErrors.Add("ERR increment would produce NaN or Infinity", "")
	errNumberInteger     = command.DataErrors.Add("ERR %s is not an integer or out of range", "An argument of `INCREX`.")
	errNumberFloat       = command.DataErrors.Add("ERR %s is not a valid float", "An argument of `INCREX`.")
	errIncrementInfinite = command.DataErrors.Add("ERR BYFLOAT increment cannot be Infinity", "")
	errValueInfinite     = command.DataErrors.Add("ERR value cannot be Infinity", "`INCREX` with `BYFLOAT` of a key that holds infinity.")
	errBoundsCross       = command.DataErrors.Add("ERR LBOUND can't be greater than UBOUND", "")
	errAppliedOverflow   = command.DataErrors.Add("ERR applied increment would overflow", "`INCREX` with `SATURATE`: the way to the bound is no 64-bit integer.")
	errAppliedInfinite   = command.DataErrors.Add("ERR applied increment would be Infinity", "As before, with `BYFLOAT`.")
	errENXAlone          = command.DataErrors.Add("ERR ENX flag requires an expiration", "")
	errOutOfRange        = command.DataErrors.Add("ERR value is out of range, value must between 1 and 9223372036854775807", "`GCRA`: tokens are at least 1, so nothing can only be asked.")
	errPeriod            = command.DataErrors.Add("ERR period must be > 0 and < 1e12", "`GCRA`: seconds.")
	errMissingTokens     = command.DataErrors.Add("ERR Missing %s value", "")
	errGCRAOverflow      = command.DataErrors.Add("ERR GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and %s would cause an overflow", "")
	errArrivalTime       = command.DataErrors.Add("ERR Invalid TaT value", "")
	errNegativeArrival   = command.DataErrors.Add("ERR Invalid negative TaT value", "")
	errExpireNX          = command.DataErrors.Add("ERR NX and XX, GT or LT options at the same time are not compatible", "")
	errExpireGTLT        = command.DataErrors.Add("ERR GT and LT options at the same time are not compatible", "")
	errUnsupportedOption = command.DataErrors.Add("ERR Unsupported option %s", "")
	errNoScript          = command.DataErrors.Add("NOSCRIPT No matching script. Please use EVAL.",
		"The script was never loaded, or `SCRIPT FLUSH` forgot it. Client libraries send the script itself then.")
	errManyScripts = command.DataErrors.Add("ERR too many scripts: at most %d are kept, of at most %d bytes each and 8 MiB in all",
		"Scripts with values in their texts? Give the values as arguments. `SCRIPT FLUSH` forgets all.")
	_ = command.DataErrors.Add(script.TimeError,
		"The script was ended, and nothing that it wrote is kept. In a cluster it was not proposed. Its steps had not used up the budget: do less in one call.")
	_ = command.DataErrors.Add(script.BudgetError,
		"The script was ended, and what it had written before stays, as after any error of a script. Split the work into several calls. A loop over all keys is too much for a script.")
	errNotBusy = command.DataErrors.Add("NOTBUSY No scripts in execution right now.",
		"The answer to `SCRIPT KILL`: a script ends by itself after its budget of steps.")
	errNegativeKeys     = command.DataErrors.Add("ERR Number of keys can't be negative", "")
	errManyScriptKeys   = command.DataErrors.Add("ERR Number of keys can't be greater than number of args", "")
	errScriptFlush      = command.DataErrors.Add("ERR SCRIPT FLUSH only support SYNC|ASYNC option", "")
	ErrNotOwnedInScript = command.DataErrors.Add("ERR Script attempted to access a non local key in a cluster node",
		"A cluster with [`--groups`](cluster.md#groups): a key that the script does not declare is of another group than those that it does, or the command looks at keys that it does not name. A script without keys may use none. `RL.ALL`, `AS` and others that no script may call get it too. Give all one hash tag, as in `{user1}:a` and `{user1}:b`.")
	errUnknownInScript = command.DataErrors.Add("ERR Unknown Redis command called from script",
		"Stint has the commands that limiters use: [commands.md](commands.md).")
	errArityInScript = command.DataErrors.Add("ERR Wrong number of args calling Redis command from script", "")
	errNotInScript   = command.DataErrors.Add("ERR This Redis command is not allowed from script",
		"The command is about the connection, the server, all keys or policies, or runs scripts itself.")
	ErrSeveralInScript = command.DataErrors.Add("ERR %s is not allowed from script; a script asks one limit at a time, by a command such as TB.ACQUIRE",
		"`RL.ALL`, `RL.CHECK`, `HT.ACQUIRE`, `AS`, `RL.SETTLE` and `RL.CANCEL`. A script is atomic: it can ask one limit after the other, and give back with `RL.REFUND`.")
	errWriteInReadOnly = command.DataErrors.Add("ERR Write commands are not allowed from read-only scripts.",
		"A script called by `EVAL_RO` or `EVALSHA_RO`, or on a connection after `READONLY`, or with the flag `no-writes` in its first line, writes.")
	errScriptWrites = command.DataErrors.Add("ERR Can not execute a script with write flag using *_ro command.",
		"The script's first line begins with `#!lua` and lacks `flags=no-writes`.")
	errNoCommandInScript = command.DataErrors.Add("ERR The user executing the script can't run this command or subcommand",
		"The user may run scripts, but not a command that this one calls: `ACL SETUSER name +command`.")
	ErrNoKeyInScript = command.DataErrors.Add("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
		"The user may not use all keys. The scripts of such a user may use the keys that they declare, and no others, and read only those that the user may read. `RL.ALL`, `AS` and others that no script may call get it too.")
	errManyKeysInScript = command.DataErrors.Add("ERR a script looks at no more than %d keys: use SCAN from outside",
		"`KEYS`, `SCAN` or `DBSIZE` in a script holds up everybody while it looks at all keys.")
	errNoFrequency = command.DataErrors.Add("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
		"`OBJECT FREQ`, which `redis-cli` asks for hot keys. No key is evicted, so there is no such policy to select; `RL.TOP` lists the keys that are denied most.")
	errNoIdleTime    = command.DataErrors.Add("ERR idle time is not tracked: no key is ever evicted", "`OBJECT IDLETIME`.")
	errNoSuchKey     = command.DataErrors.Add("ERR no such key", "")
	errRandomPairs   = command.DataErrors.Add("ERR value is out of range", "")
	errFewKeys       = command.DataErrors.Add("ERR numkeys should be greater than 0", "")
	errNegativeLimit = command.DataErrors.Add("ERR LIMIT can't be negative", "")
	errSameKey       = command.DataErrors.Add("ERR source and destination objects are the same", "")
	errIndexRange    = command.DataErrors.Add("ERR index out of range", "")
	errRank          = command.DataErrors.Add("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list", "")
	errFindCount     = command.DataErrors.Add("ERR COUNT can't be negative", "")
	errFindLength    = command.DataErrors.Add("ERR MAXLEN can't be negative", "")
	errOffset        = command.DataErrors.Add("ERR offset is out of range", "")
)

// The errors of KEYS and of databases, in other sections of the page.
var (
	errKeysInMulti = command.KeyErrors.Add("ERR KEYS in a transaction looks through at most %d keys, and there are more: use SCAN, or KEYS by itself",
		"")
	errMoveInCluster = command.ConnectionErrors.Add("ERR MOVE is not allowed in cluster mode",
		"")
	errSwapInCluster = command.ConnectionErrors.Add("ERR SWAPDB is not allowed in cluster mode",
		"")
	errSwapDB = command.ConnectionErrors.Add("ERR SWAPDB is not supported: databases keep their numbers",
		"Have the clients select the other database.")
	errManyMessages = command.DataErrors.Add("ERR a command or script publishes at most %d messages, of at most %d bytes together",
		"`PUBLISH` of a long text, or a script that publishes many. A message is for waking others up: put the data in keys.")
)
