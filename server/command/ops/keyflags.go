package ops

import (
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// keyFlags are the flags of Redis's key specifications, of commands where they do not follow from the access that the
// row states. A second entry is for the keys after the first.
var keyFlags = flagsByName(map[string]string{
	"RO": "exists hexists hlen hstrlen llen memory|usage object|encoding object|freq object|idletime object|refcount scard " +
		"sismember strlen touch type watch zcard",
	"RW insert":        "append hsetnx linsert lpush lpushx rpush rpushx sadd",
	"RW delete":        "hdel lrem ltrim srem zrem zremrangebylex zremrangebyrank zremrangebyscore",
	"RM delete":        "del unlink",
	"OW update":        "mset psetex setex",
	"OW insert":        "msetnx setnx",
	"RW access delete": "blpop brpop bzpopmax bzpopmin getdel lpop rpop spop zpopmax zpopmin",

	"RW access delete, RW insert": "blmove brpoplpush lmove rpoplpush smove",
	"RW access delete, OW update": "rename",
	"RW access delete, OW insert": "renamenx",
	"RO access, OW update":        "copy",
	"RW update":                   "zadd",
	"RW update, RO access":        "sinterstore",
	"OW update, RO access":        "sdiffstore sunionstore zdiffstore zinterstore zunionstore",
})

func flagsByName(lists map[string]string) map[string][]string {
	flags := map[string][]string{}
	for list, names := range lists {
		for name := range strings.FieldsSeq(names) {
			flags[name] = strings.Split(list, ", ")
		}
	}
	return flags
}

// flagsOfKey returns the flags of the i-th key of a command.
func flagsOfKey(row *command.Row, args [][]byte, i int) command.Statuses {
	known, access := keyFlags[row.FullName], row.Access(args, i)
	switch {
	case known != nil:
		return strings.Fields(known[min(i, len(known)-1)])
	case row.Flags&command.Write == 0:
		return command.Statuses{"RO", "access"}
	case access == command.Changes && row.FullName == "set":
		return command.Statuses{"OW", "update"}
	case access == command.Changes:
		return command.Statuses{"RW", "update"}
	}
	return command.Statuses{"RW", "access", "update"}
}

// keysOfCommand returns the command among the arguments of COMMAND GETKEYS, and its keys. It writes the error.
func keysOfCommand(w *resp.Writer, args [][]byte) (row *command.Row, keys [][]byte) {
	row, err := command.Find(args)
	switch {
	case err != nil && command.LookUp(args[0]) == nil:
		w.Error(errGetKeysCommand.Error())
	case err != nil:
		w.Error(errGetKeysArity.Error())
	case row.Keys.First == 0 && row.Flags&command.MovableKeys == 0:
		w.Error(errGetKeysNone.Error())
	default:
		if keys = row.KeysOf(args); len(keys) == 0 {
			w.Error(errGetKeysArguments.Error())
		}
	}
	return row, keys
}

func runGetKeys(_ command.Session, w *resp.Writer, args [][]byte) {
	if _, keys := keysOfCommand(w, args[2:]); len(keys) > 0 {
		command.WriteKeys(w, keys)
	}
}

func runGetKeysAndFlags(_ command.Session, w *resp.Writer, args [][]byte) {
	row, keys := keysOfCommand(w, args[2:])
	if len(keys) == 0 {
		return
	}
	w.Array(len(keys))
	for i, key := range keys {
		w.Array(2)
		w.Bulk(key)
		flagsOfKey(row, args[2:], i).Write(w)
	}
}
