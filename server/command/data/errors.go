package data

import (
	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/server/command"
)

// The errors of several kinds of data, and of scripts.
var (
	errValueTooBig = command.DataErrors.Add("ERR value: at most %d bytes in one key, got %d", "")
	ErrReplyTooBig = command.DataErrors.Add("ERR reply: more than %d bytes; ask for fewer values at once", "")
	ErrSetsTooBig  = command.DataErrors.Add("ERR sets: at most %d bytes in the sets of one command, got more", "")
	errManyMembers = command.DataErrors.Add("ERR sets: at most %d members in the sets of one command, got more", "")
	errNotPositive = command.DataErrors.Add("ERR value is out of range, must be positive", "")
	ErrExpireTime  = command.DataErrors.Add("ERR invalid expire time in '%s' command", "")
	ErrOverflow    = command.DataErrors.Add("ERR increment or decrement would overflow", "")
	ErrNotFloat    = command.DataErrors.Add("ERR value is not a valid float", "")
	ErrNaN         = command.DataErrors.Add("ERR increment would produce NaN or Infinity", "")
	errNoScript    = command.DataErrors.Add("NOSCRIPT No matching script. Please use EVAL.",
		"The script was never loaded, or was forgotten. Client libraries then send the script itself.")
	errManyScripts = command.DataErrors.Add("ERR too many scripts: at most %d are kept, of at most %d bytes each and 8 MiB in all",
		"Pass values as arguments instead of writing them into the script. `SCRIPT FLUSH` forgets all scripts.")
	_ = command.DataErrors.Add(script.TimeError,
		"None of the script's changes are kept. Do less in one call.")
	_ = command.DataErrors.Add(script.BudgetError,
		"Changes that the script made before the error stay, as after any error in a script. Split the work into several calls.")
	errNotBusy          = command.DataErrors.Add("NOTBUSY No scripts in execution right now.", "")
	errNegativeKeys     = command.DataErrors.Add("ERR Number of keys can't be negative", "")
	ErrManyScriptKeys   = command.DataErrors.Add("ERR Number of keys can't be greater than number of args", "")
	errScriptFlush      = command.DataErrors.Add("ERR SCRIPT FLUSH only support SYNC|ASYNC option", "")
	ErrNotOwnedInScript = command.DataErrors.Add("ERR Script attempted to access a non local key in a cluster node",
		"In a cluster with [`--groups`](cluster.md#groups), the script used a key in another group than its declared keys, or it declares no keys. Give all keys one hash tag, as in `{user1}:a` and `{user1}:b`. Commands that no script may call, such as `RL.ALL`, also get this error.")
	errUnknownInScript = command.DataErrors.Add("ERR Unknown Redis command called from script",
		"Stint does not have this command. [commands.md](commands.md) lists all commands.")
	errArityInScript = command.DataErrors.Add("ERR Wrong number of args calling Redis command from script", "")
	errNotInScript   = command.DataErrors.Add("ERR This Redis command is not allowed from script",
		"The command concerns the connection, the server, all keys or policies, or it runs scripts itself.")
	ErrSeveralInScript = command.DataErrors.Add("ERR %s is not allowed from script; a script asks one limit at a time, by a command such as TB.ACQUIRE",
		"Scripts cannot use `RL.ALL`, `RL.CHECK`, `HT.ACQUIRE`, `AS`, `RL.EXTEND`, `RL.SETTLE` and `RL.CANCEL`. But a script is atomic, so it can take tokens from one limit after the other. If a limit denies, the script can give the tokens of the earlier limits back with `RL.REFUND`.")
	errWriteInReadOnly = command.DataErrors.Add("ERR Write commands are not allowed from read-only scripts.",
		"The script writes, although it was called by `EVAL_RO` or `EVALSHA_RO`, or after `READONLY`, or its first line has the flag `no-writes`.")
	errScriptWrites   = command.DataErrors.Add("ERR Can not execute a script with write flag using *_ro command.", "")
	errWriteByVersion = command.DataErrors.Add("ERR a script that has called %s may not write",
		"The reply of that command can differ between the nodes of a cluster during an upgrade, so a write that depends on it could make the replicas differ. Call the command outside of the script.")
	errNoCommandInScript = command.DataErrors.Add("ERR The user executing the script can't run this command or subcommand",
		"The user may run scripts, but not a command that this script calls. `ACL SETUSER name +command` allows it.")
	ErrNoKeyInScript = command.DataErrors.Add("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
		"The user may not use all keys, so its scripts may only use the keys that they declare. Commands that no script may call, such as `RL.ALL`, also get this error.")
	ErrNoSuchKey     = command.DataErrors.Add("ERR no such key", "")
	errRandomPairs   = command.DataErrors.Add("ERR value is out of range", "")
	errNegativeLimit = command.DataErrors.Add("ERR LIMIT can't be negative", "")
)

var errManyMessages = command.DataErrors.Add("ERR a command or script publishes at most %d messages, of at most %d bytes together",
	"Use messages to wake subscribers up, and put the data in keys.")
