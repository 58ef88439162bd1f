package command

import (
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/server/resp"
)

var dataErrors = resp.ErrorSection{Heading: "Redis data and scripts", Before: "Texts are those of Redis 7.0, unless a bound of Stint's is the reason. Within a script, the script's digest and line follow the text of a command's error.\n"}

// The errors of this section.
var (
	ErrDataType = dataErrors.Add("WRONGTYPE Operation against a key holding the wrong kind of value",
		"The key holds another kind of data, or a limiter. Give each its own keys, or `DEL` the key first.")
	errValueTooBig = dataErrors.Add("ERR value: at most %d bytes in one key, got %d",
		"The value, or the hash, list or set as a whole, would be larger than Stint keeps in one key. Nothing was changed.")
	errReplyTooBig = dataErrors.Add("ERR reply: more than %d bytes; ask for fewer values at once",
		"")
	errSetsTooBig = dataErrors.Add("ERR sets: at most %d bytes in the sets of one command, got more",
		"Sets that one command combines, such as `SUNIONSTORE`, are too large together. Nothing was changed.")
	errManyMembers = dataErrors.Add("ERR sets: at most %d members in the sets of one command, got more",
		"Sets that one command combines, such as `SUNIONSTORE` or `ZUNION`, have too many members together: it would hold others up. Nothing was changed.")
	errNotPositive       = dataErrors.Add("ERR value is out of range, must be positive", "")
	errExpireTime        = dataErrors.Add("ERR invalid expire time in '%s' command", "")
	errOverflow          = dataErrors.Add("ERR increment or decrement would overflow", "")
	errHashNotInteger    = dataErrors.Add("ERR hash value is not an integer", "")
	errDecrementOverflow = dataErrors.Add("ERR decrement would overflow", "")
	errNotFloat          = dataErrors.Add("ERR value is not a valid float", "")
	errHashNotFloat      = dataErrors.Add("ERR hash value is not a float", "")
	errInfinite          = dataErrors.Add("ERR value is NaN or Infinity", "")
	errNaN               = dataErrors.Add("ERR increment would produce NaN or Infinity", "")
	errNumberInteger     = dataErrors.Add("ERR %s is not an integer or out of range", "An argument of `INCREX`.")
	errNumberFloat       = dataErrors.Add("ERR %s is not a valid float", "An argument of `INCREX`.")
	errIncrementInfinite = dataErrors.Add("ERR BYFLOAT increment cannot be Infinity", "")
	errValueInfinite     = dataErrors.Add("ERR value cannot be Infinity", "`INCREX` with `BYFLOAT` of a key that holds infinity.")
	errBoundsCross       = dataErrors.Add("ERR LBOUND can't be greater than UBOUND", "")
	errAppliedOverflow   = dataErrors.Add("ERR applied increment would overflow", "`INCREX` with `SATURATE`: the way to the bound is no 64-bit integer.")
	errAppliedInfinite   = dataErrors.Add("ERR applied increment would be Infinity", "As before, with `BYFLOAT`.")
	errENXAlone          = dataErrors.Add("ERR ENX flag requires an expiration", "")
	errOutOfRange        = dataErrors.Add("ERR value is out of range, value must between 1 and 9223372036854775807", "`GCRA`: tokens are at least 1, so nothing can only be asked.")
	errPeriod            = dataErrors.Add("ERR period must be > 0 and < 1e12", "`GCRA`: seconds.")
	errMissingTokens     = dataErrors.Add("ERR Missing %s value", "")
	errGCRAOverflow      = dataErrors.Add("ERR GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and %s would cause an overflow", "")
	errArrivalTime       = dataErrors.Add("ERR Invalid TaT value", "")
	errNegativeArrival   = dataErrors.Add("ERR Invalid negative TaT value", "")
	errExpireNX          = dataErrors.Add("ERR NX and XX, GT or LT options at the same time are not compatible", "")
	errExpireGTLT        = dataErrors.Add("ERR GT and LT options at the same time are not compatible", "")
	errUnsupportedOption = dataErrors.Add("ERR Unsupported option %s", "")
	errNoScript          = dataErrors.Add("NOSCRIPT No matching script. Please use EVAL.",
		"The script was never loaded, or `SCRIPT FLUSH` forgot it. Client libraries send the script itself then.")
	errManyScripts = dataErrors.Add("ERR too many scripts: at most %d are kept, of at most %d bytes each and 8 MiB in all",
		"Scripts with values in their texts? Give the values as arguments. `SCRIPT FLUSH` forgets all.")
	_ = dataErrors.Add(script.TimeError,
		"The script was ended, and nothing that it wrote is kept. In a cluster it was not proposed. Its steps had not used up the budget: do less in one call.")
	_ = dataErrors.Add(script.BudgetError,
		"The script was ended, and what it had written before stays, as after any error of a script. Split the work into several calls. A loop over all keys is too much for a script.")
	errNotBusy = dataErrors.Add("NOTBUSY No scripts in execution right now.",
		"The answer to `SCRIPT KILL`: a script ends by itself after its budget of steps.")
	errNegativeKeys     = dataErrors.Add("ERR Number of keys can't be negative", "")
	errManyScriptKeys   = dataErrors.Add("ERR Number of keys can't be greater than number of args", "")
	errScriptFlush      = dataErrors.Add("ERR SCRIPT FLUSH only support SYNC|ASYNC option", "")
	errNotOwnedInScript = dataErrors.Add("ERR Script attempted to access a non local key in a cluster node",
		"A cluster with [`--groups`](cluster.md#groups): a key that the script does not declare is of another group than those that it does, or the command looks at keys that it does not name. A script without keys may use none. `RL.ALL`, `AS` and others that no script may call get it too. Give all one hash tag, as in `{user1}:a` and `{user1}:b`.")
	errUnknownInScript = dataErrors.Add("ERR Unknown Redis command called from script",
		"Stint has the commands that limiters use: [commands.md](commands.md).")
	errArityInScript = dataErrors.Add("ERR Wrong number of args calling Redis command from script", "")
	errNotInScript   = dataErrors.Add("ERR This Redis command is not allowed from script",
		"The command is about the connection, the server, all keys or policies, or runs scripts itself.")
	errSeveralInScript = dataErrors.Add("ERR %s is not allowed from script; a script asks one limit at a time, by a command such as TB.ACQUIRE",
		"`RL.ALL`, `RL.CHECK`, `HT.ACQUIRE`, `AS`, `RL.SETTLE` and `RL.CANCEL`. A script is atomic: it can ask one limit after the other, and give back with `RL.REFUND`.")
	errWriteInReadOnly = dataErrors.Add("ERR Write commands are not allowed from read-only scripts.",
		"A script called by `EVAL_RO` or `EVALSHA_RO`, or on a connection after `READONLY`, or with the flag `no-writes` in its first line, writes.")
	errScriptWrites = dataErrors.Add("ERR Can not execute a script with write flag using *_ro command.",
		"The script's first line begins with `#!lua` and lacks `flags=no-writes`.")
	errNoCommandInScript = dataErrors.Add("ERR The user executing the script can't run this command or subcommand",
		"The user may run scripts, but not a command that this one calls: `ACL SETUSER name +command`.")
	errNoKeyInScript = dataErrors.Add("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
		"The user may not use all keys. The scripts of such a user may use the keys that they declare, and no others, and read only those that the user may read. `RL.ALL`, `AS` and others that no script may call get it too.")
	errManyMessages = dataErrors.Add("ERR a command or script publishes at most %d messages, of at most %d bytes together",
		"`PUBLISH` of a long text, or a script that publishes many. A message is for waking others up: put the data in keys.")
	errManyKeysInScript = dataErrors.Add("ERR a script looks at no more than %d keys: use SCAN from outside",
		"`KEYS`, `SCAN` or `DBSIZE` in a script holds up everybody while it looks at all keys.")
	errNoFrequency = dataErrors.Add("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
		"`OBJECT FREQ`, which `redis-cli` asks for hot keys. No key is evicted, so there is no such policy to select; `RL.TOP` lists the keys that are denied most.")
	errNoIdleTime    = dataErrors.Add("ERR idle time is not tracked: no key is ever evicted", "`OBJECT IDLETIME`.")
	errNoSuchKey     = dataErrors.Add("ERR no such key", "")
	errRange         = dataErrors.Add("ERR value is out of range, value must between %d and %d", "")
	errRandomPairs   = dataErrors.Add("ERR value is out of range", "")
	errFewKeys       = dataErrors.Add("ERR numkeys should be greater than 0", "")
	errNegativeLimit = dataErrors.Add("ERR LIMIT can't be negative", "")
	errSameKey       = dataErrors.Add("ERR source and destination objects are the same", "")
	errIndexRange    = dataErrors.Add("ERR index out of range", "")
	errRank          = dataErrors.Add("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list", "")
	errFindCount     = dataErrors.Add("ERR COUNT can't be negative", "")
	errFindLength    = dataErrors.Add("ERR MAXLEN can't be negative", "")
	errOffset        = dataErrors.Add("ERR offset is out of range", "")
)
