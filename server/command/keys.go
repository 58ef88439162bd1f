package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/resp"
)

var keyRows = []Row{{
	Name: "del", Syntax: "key ...", Group: "generic",
	Summary: "Reset limiters to their full limit.",
	Returns: "the number of keys that existed and had not expired, an integer.", Example: "alice:1",
	Cost: Light, Flags: Write, Keys: changedKeys, Data: deleteKeys, Parse: eachKey(engine.Delete), Reply: replyCount,
}, {
	Name: "unlink", Syntax: "key ...", Group: "generic", Summary: "Same as DEL.",
	Returns: "the number of keys that existed and had not expired, an integer.", Example: "alice:1",
	Cost: Light, Flags: Write | Fast, Keys: changedKeys, Data: deleteKeys, Parse: eachKey(engine.Delete), Reply: replyCount,
}, {
	Name: "exists", Syntax: "key ...", Group: "generic",
	Summary: "Count the keys that exist and have not expired.",
	Returns: "an integer; a key given twice counts twice.", Example: "alice:1",
	Cost: HolderLookup, Flags: ReadOnly | Fast, Keys: readKeys, Data: existKeys, Parse: eachKey(engine.Look), Reply: replyCount,
}, {
	Name: "touch", Syntax: "key ...", Group: "generic",
	Summary: "Same as EXISTS: no key is ever evicted, so none needs it.",
	Returns: "an integer; a key given twice counts twice.", Example: "alice:1",
	Cost: HolderLookup, Flags: ReadOnly | Fast, Keys: readKeys, Data: existKeys, Parse: eachKey(engine.Look), Reply: replyCount,
}, {
	Name: "ttl", Syntax: "key", Group: "generic",
	Summary: "Seconds until a key expires; a limiter is then at its full limit again.",
	Returns: "an integer, rounded; -1 if the key never expires, -2 if the key does not exist or has expired.", Example: "alice:1",
	Cost: HolderLookup, Flags: ReadOnly | Fast, Keys: readKey, Data: func(c *DataCall) { timeToLive(c, 1000) }, Parse: eachKey(engine.Look), Reply: replyTTL,
}, {
	Name: "pttl", Syntax: "key", Group: "generic",
	Summary: "Milliseconds until a key expires; a limiter is then at its full limit again.",
	Returns: "an integer, rounded up; -1 if the key never expires, -2 if the key does not exist or has expired.", Example: "alice:1",
	Cost: HolderLookup, Flags: ReadOnly | Fast, Keys: readKey, Data: func(c *DataCall) { timeToLive(c, 1) }, Parse: eachKey(engine.Look), Reply: replyPTTL,
}, {
	Name: "type", Syntax: "key", Group: "generic",
	Summary: "The kind of a key: the algorithm of its limiter, such as token-bucket, or the kind of its data, such as string.",
	Returns: "one of " + typeNames() + ", or `none` for a key that does not exist or has expired.",
	Example: "alice:1",
	Cost:    HolderLookup, Flags: ReadOnly | Fast, Keys: readKey, Data: typeOfKey, Parse: eachKey(engine.Look), Reply: replyType,
}, {
	Name: "scan", Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Group: "generic",
	Summary: "Iterate over the keys.",
	Returns: "two elements: the next cursor, `0` at the end, and an array of keys. COUNT is 10 by default and at most 10000; a step with long keys may return fewer.",
	Example: "0",
	Cost:    KeyStep, Flags: ReadOnly, Run: runScan, Data: scanInScript,
}, {
	Name: "keys", Syntax: "pattern", Group: "generic",
	Summary: "All keys that match a glob pattern. Slow with many keys; prefer SCAN.",
	Returns: "an array of keys; an error if more than 100000 keys, or more than 3500000 bytes, match.", Example: "*",
	Cost: KeyPass, Flags: ReadOnly | Dangerous, Run: runKeys, Data: keysInScript,
}, {
	Name: "randomkey", Group: "generic", Summary: "A random key that the user may read.",
	Returns: "a key; null if there is none, or 100 tries found none that the user may read.",
	Cost:    ShardPass, Flags: ReadOnly, Run: runRandomKey,
}, {
	Name: "dbsize", Group: "server", Summary: "The number of keys in the database.",
	Returns: "an integer. Expired keys count until the server removes them.",
	Cost:    ShardPass, Flags: ReadOnly | Fast | AllKeys,
	Run: func(s Session, w *resp.Writer, _ [][]byte) {
		w.Int(int64(s.Server().Keys().DatabaseLen(s.Client().Database)))
	}, Data: sizeInScript,
}, {
	Name: "flushdb", Syntax: "[ASYNC | SYNC]", Group: "server",
	Summary: "Delete every key of the database: limiters are at their full limit again.",
	Returns: "`OK`.",
	Cost:    KeyPass, Flags: Write | Dangerous | AllKeys, Parse: parseFlushDB, Reply: replyOK,
}, {
	Name: "flushall", Syntax: "[ASYNC | SYNC]", Group: "server",
	Summary: "Delete every key of all databases: limiters are at their full limit again.",
	Returns: "`OK`.",
	Cost:    KeyPass, Flags: Write | Dangerous | AllKeys, Parse: parseFlush, Reply: replyOK,
}}

// eachKey is the Parse of a row whose arguments are keys: it makes one operation of each.
func eachKey(verb engine.Verb) func(*Request) error {
	return func(r *Request) error {
		for _, key := range r.Args[1:] {
			if err := r.key(key); err != nil {
				return err
			}
			r.Ops = append(r.Ops, engine.Op{Verb: verb, Key: key})
		}
		return nil
	}
}

func parseFlush(r *Request) error {
	if len(r.Args) > 2 || len(r.Args) == 2 && !isWord(r.Args[1], "ASYNC") && !isWord(r.Args[1], "SYNC") {
		return ErrSyntax
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Flush})
	return nil
}

func parseFlushDB(r *Request) error {
	if err := parseFlush(r); err != nil || r.Bounds.Databases <= 1 {
		return err
	}
	op := &r.Ops[len(r.Ops)-1]
	op.Options, op.Database = engine.OneDatabase, r.Database
	return nil
}

func replyCount(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	n := int64(0)
	for i := range results {
		switch results[i].Status {
		case engine.OK:
			n++
		case engine.NotDurable: // of several keys too: how many of them are gone for certain is not known
			w.Error(ErrNotKept.Error())
			return
		}
	}
	w.Int(n)
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

// expiresIn is the milliseconds until a key expires, or noExpiry or noSuchKey. A limiter of which nothing but loans is taken expires when
// they end, which is not known. So does one whose closed windows are kept, later than that.
func expiresIn(res *engine.Result) int64 {
	switch {
	case res.Status == engine.NotFound:
		return noSuchKey
	case res.Reset == engine.NeverExpires, res.Reset == 0 && (res.Lent > 0 || res.Held.History > 0):
		return noExpiry
	}
	return Millis(res.Reset)
}

func replyType(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	algorithm := limits.NoAlgorithm
	if results[0].Status == engine.OK {
		algorithm = results[0].Held.Algorithm
	}
	w.Status(algorithm.String())
}
