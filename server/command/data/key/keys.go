package key

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var keyRows = []command.Row{{
	Name: "del", Syntax: "key ...", Group: "generic",
	Summary: "Delete keys. A limiter is then at its full limit again.",
	Returns: "the number of keys that existed, an integer.", Example: "alice:1",
	Cost: command.Light, Flags: command.Write,
	KeyFlags: "RM delete", Keys: command.ChangedKeys,
	Data: data.Code(deleteKeys), Parse: command.EachKey(engine.Delete), Reply: command.ReplyCount,
}, {
	Name: "unlink", Syntax: "key ...", Group: "generic", Summary: "Same as DEL.",
	Returns: "as DEL.", Example: "alice:1",
	Cost: command.Light, Flags: command.Write | command.Fast,
	KeyFlags: "RM delete", Keys: command.ChangedKeys,
	Data: data.Code(deleteKeys), Parse: command.EachKey(engine.Delete), Reply: command.ReplyCount,
}, {
	Name: "exists", Syntax: "key ...", Group: "generic",
	Summary: "Count the keys that exist.",
	Returns: "an integer.", Example: "alice:1",
	Cost: command.HolderLookup, Flags: command.ReadOnly | command.Fast,
	KeyFlags: "RO", Keys: command.ReadKeys,
	Data: data.Code(existKeys), Parse: command.EachKey(engine.Look), Reply: command.ReplyCount,
}, {
	Name: "touch", Syntax: "key ...", Group: "generic",
	Summary: "Same as EXISTS. Stint evicts no keys, so it does not record when they are used.",
	Returns: "as EXISTS.", Example: "alice:1",
	Cost: command.HolderLookup, Flags: command.ReadOnly | command.Fast,
	KeyFlags: "RO", Keys: command.ReadKeys,
	Data: data.Code(existKeys), Parse: command.EachKey(engine.Look), Reply: command.ReplyCount,
}, {
	Name: "ttl", Syntax: "key", Group: "generic",
	Summary: "Seconds until a key expires; a limiter is then at its full limit again.",
	Returns: "an integer, rounded; -1 if the key never expires, -2 if the key does not exist.", Example: "alice:1",
	Cost: command.HolderLookup, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: data.Code(func(c *data.Call) { timeToLive(c, 1000) }), Parse: command.EachKey(engine.Look), Reply: replyTTL,
}, {
	Name: "pttl", Syntax: "key", Group: "generic",
	Summary: "Milliseconds until a key expires; a limiter is then at its full limit again.",
	Returns: "an integer, rounded up; -1 if the key never expires, -2 if the key does not exist.", Example: "alice:1",
	Cost: command.HolderLookup, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Data: data.Code(func(c *data.Call) { timeToLive(c, 1) }), Parse: command.EachKey(engine.Look), Reply: replyPTTL,
}, {
	Name: "type", Syntax: "key", Group: "generic",
	Summary: "The kind of a key: the algorithm of its limiter, such as token-bucket, or the kind of its data, such as string.",
	Returns: "one of " + typeNames() + ", or `none` for a key that does not exist.",
	Example: "alice:1",
	Cost:    command.HolderLookup, Flags: command.ReadOnly | command.Fast,
	KeyFlags: "RO", Keys: command.ReadKey,
	Data: data.Code(typeOfKey), Parse: command.EachKey(engine.Look), Reply: replyType,
}, {
	Name: "scan", Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Group: "generic",
	Summary: "Iterate over the keys.",
	Returns: "two elements: the next cursor (`0` at the end), and an array of keys. COUNT is 10 by default and at most 10000; a step with long keys may return fewer.",
	Example: "0",
	Cost:    command.KeyStep, Flags: command.ReadOnly, Run: runScan, Data: data.Code(scanInScript),
}, {
	Name: "keys", Syntax: "pattern", Group: "generic",
	Summary: "All keys that match a glob pattern. Slow with many keys; prefer SCAN.",
	Returns: "an array of keys; an error if more than 100000 keys, or more than 3500000 bytes, match.", Example: "*",
	Cost: command.KeyPass, Flags: command.ReadOnly | command.Dangerous, Run: runKeys, Data: data.Code(keysInScript),
}, {
	Name: "randomkey", Group: "generic", Summary: "A random key that the user may read.",
	Returns: "a key; null if there is none, or 100 tries found none that the user may read.",
	Cost:    command.ShardPass, Flags: command.ReadOnly, Run: runRandomKey,
}, {
	Name: "dbsize", Group: "server", Summary: "The number of keys in the database.",
	Returns: "an integer. Expired keys count until the server removes them.",
	Cost:    command.ShardPass, Flags: command.ReadOnly | command.Fast | command.AllKeys,
	Run: func(s command.Session, w *resp.Writer, _ [][]byte) {
		w.Int(int64(s.Server().Keys().DatabaseLen(s.Client().Database)))
	}, Data: data.Code(sizeInScript),
}, {
	Name: "flushdb", Syntax: "[ASYNC | SYNC]", Group: "server",
	Summary: "Delete every key of the database: limiters are then at their full limit again.",
	Returns: "`OK`.",
	Cost:    command.KeyPass, Flags: command.Write | command.Dangerous | command.AllKeys, Parse: parseFlushDB, Reply: command.ReplyOK,
}, {
	Name: "flushall", Syntax: "[ASYNC | SYNC]", Group: "server",
	Summary: "Delete every key of all databases: limiters are then at their full limit again.",
	Returns: "`OK`.",
	Cost:    command.KeyPass, Flags: command.Write | command.Dangerous | command.AllKeys, Parse: parseFlush, Reply: command.ReplyOK,
}}

func parseFlush(r *command.Request) error {
	if len(r.Args) > 2 || len(r.Args) == 2 && !command.IsWord(r.Args[1], "ASYNC") && !command.IsWord(r.Args[1], "SYNC") {
		return command.ErrSyntax
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Flush})
	return nil
}

func parseFlushDB(r *command.Request) error {
	if err := parseFlush(r); err != nil || r.Bounds.Databases <= 1 {
		return err
	}
	op := &r.Ops[len(r.Ops)-1]
	op.Options, op.Database = engine.OneDatabase, r.Database
	return nil
}

// Replies of TTL in place of a time, as in Redis.
const (
	noExpiry  = -1
	noSuchKey = -2
)

func replyTTL(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	ms := expiresIn(&results[0])
	if ms > 0 {
		ms = (ms + 500) / 1000
	}
	w.Int(ms)
}

func replyPTTL(w *resp.Writer, _ []engine.Op, results []engine.Result) { w.Int(expiresIn(&results[0])) }

// expiresIn returns the milliseconds until a key expires, or noExpiry or noSuchKey. A limiter of which nothing is used
// is there for what it remembers, such as loans, closed windows, credits or a ban. When that ends is not known here.
func expiresIn(res *engine.Result) int64 {
	switch {
	case res.Status == engine.NotFound:
		return noSuchKey
	case res.Reset == engine.NeverExpires, res.Reset == 0 && !res.Held.Algorithm.IsValue():
		return noExpiry
	}
	return command.Millis(res.Reset)
}

func replyType(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	algorithm := engine.NoKind
	if results[0].Status == engine.OK {
		algorithm = engine.KindOf(results[0].Held.Algorithm)
	}
	w.Status(algorithm.String())
}

// typeNames lists the replies of TYPE, in Markdown.
func typeNames() string {
	var names []string
	add := func(kind engine.Kind) {
		if name := "`" + kind.String() + "`"; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, a := range append(limits.Algorithms(), limits.Reservation) {
		add(engine.KindOf(a))
	}
	for _, kind := range engine.DataKinds() {
		add(kind)
	}
	return strings.Join(names, ", ")
}

// KEYS, SCAN and DBSIZE within a script. They look at all keys at once, in the order of their names, because every node
// of a cluster must see the same.
