package command

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

var manyKeys = Keys{1, -1, 1}

var keyRows = []Row{{
	Name: "del", Syntax: "key ...", Since: "0.1.0", Group: "generic",
	Summary: "Reset limiters: their keys are as good as new. Replies how many had something taken.",
	Flags:   Write, Keys: manyKeys, Parse: parseDeletes, Reply: replyCount,
}, {
	Name: "unlink", Syntax: "key ...", Since: "0.1.0", Group: "generic", Summary: "The same as DEL.",
	Flags: Write | Fast, Keys: manyKeys, Parse: parseDeletes, Reply: replyCount,
}, {
	Name: "exists", Syntax: "key ...", Since: "0.1.0", Group: "generic",
	Summary: "Count the keys whose limiter is not as good as new.",
	Flags:   ReadOnly | Fast, Keys: manyKeys, Parse: parseLooks, Reply: replyCount,
}, {
	Name: "ttl", Syntax: "key", Since: "0.1.0", Group: "generic",
	Summary: "Seconds until a key's limiter is as good as new, rounded; -2 when it is.",
	Flags:   ReadOnly | Fast, Keys: oneKey, Parse: parseLooks, Reply: replyTTL,
}, {
	Name: "pttl", Syntax: "key", Since: "0.1.0", Group: "generic",
	Summary: "Milliseconds until a key's limiter is as good as new; -2 when it is.",
	Flags:   ReadOnly | Fast, Keys: oneKey, Parse: parseLooks, Reply: replyPTTL,
}, {
	Name: "type", Syntax: "key", Since: "0.1.0", Group: "generic",
	Summary: "The algorithm of a key's limiter, such as token-bucket, or none.",
	Flags:   ReadOnly | Fast, Keys: oneKey, Parse: parseLooks, Reply: replyType,
}, {
	Name: "scan", Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Since: "0.1.0", Group: "generic",
	Summary: "Go through the keys step by step.", Flags: ReadOnly, Run: runScan,
}, {
	Name: "keys", Syntax: "pattern", Since: "0.1.0", Group: "generic",
	Summary: "All keys that match a glob pattern. Takes long on large stores: SCAN does not.",
	Flags:   ReadOnly | Dangerous, Run: runKeys,
}, {
	Name: "randomkey", Since: "0.1.0", Group: "generic", Summary: "Some key, or null.", Flags: ReadOnly, Run: runRandomKey,
}, {
	Name: "dbsize", Since: "0.1.0", Group: "server", Summary: "The number of keys.", Flags: ReadOnly | Fast,
	Run: func(s Session, w *resp.Writer, _ [][]byte) { w.Int(int64(s.Server().Keys().Len())) },
}, {
	Name: "flushdb", Syntax: "[ASYNC | SYNC]", Since: "0.1.0", Group: "server",
	Summary: "Reset every limiter.", Flags: Write | Dangerous, Parse: parseFlush, Reply: replyOK,
}, {
	Name: "flushall", Syntax: "[ASYNC | SYNC]", Since: "0.1.0", Group: "server",
	Summary: "Reset every limiter.", Flags: Write | Dangerous, Parse: parseFlush, Reply: replyOK,
}}

// parseKeys makes one operation of every argument from the first key on.
func parseKeys(r *Request, verb engine.Verb) error {
	for _, key := range r.Args[1:] {
		if err := r.key(key); err != nil {
			return err
		}
		r.Ops = append(r.Ops, engine.Op{Verb: verb, Key: key})
	}
	return nil
}

func parseDeletes(r *Request) error { return parseKeys(r, engine.Delete) }

func parseLooks(r *Request) error { return parseKeys(r, engine.Look) }

func parseFlush(r *Request) error {
	if len(r.Args) > 2 || len(r.Args) == 2 && !isWord(r.Args[1], "ASYNC") && !isWord(r.Args[1], "SYNC") {
		return ErrSyntax
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Flush})
	return nil
}

func isWord(arg []byte, word string) bool { return strings.EqualFold(string(arg), word) }

func replyOK(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if !failed(w, &results[0]) {
		w.Status("OK")
	}
}

func replyCount(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	n := int64(0)
	for i := range results {
		switch results[i].Status {
		case engine.OK:
			n++
		case engine.NotKept: // of several keys too: how many of them are gone for certain is not known
			w.Error(ErrNotKept.Error())
			return
		}
	}
	w.Int(n)
}

const noSuchKey = -2 // as TTL of Redis

func replyTTL(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Int(noSuchKey)
		return
	}
	w.Int((millis(results[0].Reset) + 500) / 1000)
}

func replyPTTL(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Int(noSuchKey)
		return
	}
	w.Int(millis(results[0].Reset))
}

func replyType(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	algorithm := engine.NoAlgorithm
	if results[0].Status == engine.OK {
		algorithm = results[0].Held.Algorithm
	}
	w.Status(algorithm.String())
}

const (
	scanCount    = 10 // entries a SCAN passes over when COUNT is not given, as Redis does
	maxScanCount = 100_000
)

func runScan(s Session, w *resp.Writer, args [][]byte) {
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		w.Error(ErrInvalidCursor.Error())
		return
	}
	pattern, count, typ := "*", int64(scanCount), ""
	for words := args[2:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			w.Error(ErrSyntax.Error())
			return
		}
		switch {
		case isWord(words[0], "MATCH"):
			pattern = string(words[1])
		case isWord(words[0], "TYPE"):
			typ = strings.ToLower(string(words[1]))
		case isWord(words[0], "COUNT"):
			var ok bool
			if count, ok = integer(words[1]); !ok {
				w.Error(ErrNotInteger.Error())
				return
			}
			if count < 1 {
				w.Error(ErrSyntax.Error())
				return
			}
		default:
			w.Error(ErrSyntax.Error())
			return
		}
	}
	found, next := collectKeys(s, cursor, int(min(count, maxScanCount)), pattern, typ)
	w.Array(2)
	w.BulkString(strconv.FormatUint(next, 10))
	writeKeys(w, found)
}

// collectKeys lists those keys that match and that the user may look at.
func collectKeys(s Session, cursor uint64, count int, pattern, typ string) (keys [][]byte, next uint64) {
	next = s.Server().Keys().Scan(cursor, count, s.Server().Now(), func(e engine.Entry) {
		if (typ == "" || typ == e.Limit.Algorithm.String()) && (pattern == "*" || Match(pattern, string(e.Key))) && s.Reaches(e.Key) {
			keys = append(keys, append([]byte{}, e.Key...))
		}
	})
	return keys, next
}

func writeKeys(w *resp.Writer, keys [][]byte) {
	w.Array(len(keys))
	for _, k := range keys {
		w.Bulk(k)
	}
}

// maxKeysReply bounds what KEYS answers; beyond it the caller is sent to SCAN.
const maxKeysReply = 100_000

func runKeys(s Session, w *resp.Writer, args [][]byte) {
	var all [][]byte
	for cursor := uint64(0); ; {
		found, next := collectKeys(s, cursor, 1000, string(args[1]), "")
		all = append(all, found...)
		if len(all) > maxKeysReply {
			w.Error(fmt.Sprintf("ERR KEYS found more than %d keys: use SCAN", maxKeysReply))
			return
		}
		if cursor = next; next == 0 {
			break
		}
	}
	writeKeys(w, all)
}

// runRandomKey starts to look at a random place and takes the first key from there on.
func runRandomKey(s Session, w *resp.Writer, _ [][]byte) {
	var found []byte
	keep := func(e engine.Entry) {
		if found == nil && s.Reaches(e.Key) {
			found = append([]byte{}, e.Key...)
		}
	}
	server := s.Server()
	start := server.Keys().Scan(0, 1+rand.IntN(1+server.Keys().Len()), server.Now(), func(engine.Entry) {})
	for _, from := range []uint64{start, 0} {
		for cursor := from; found == nil; {
			if cursor = server.Keys().Scan(cursor, 1, server.Now(), keep); cursor == 0 {
				break
			}
		}
	}
	if found == nil {
		w.Null()
		return
	}
	w.Bulk(found)
}
