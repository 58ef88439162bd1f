package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var concurrencyRows = []command.Row{acquireRow("cc.acquire", limits.Concurrency, "key limit ttl holder [PEEK] [BLOCK duration [PRIORITY priority]] [WARN percentage]", "alice:7 5 1h me",
	"Acquire a lease, or renew the holder's lease. At most limit holders have a lease. A lease expires after ttl. With BLOCK, the request waits for a free place. PRIORITY is 0 to 9 (the most urgent), by default 5.",
	optPeek, optBlock, optPriority, optWarn), {
	Name: "cc.release", Syntax: "key holder", Group: "limiter",
	Summary: "Release a lease.",
	Returns: "1, or 0 if the holder had no lease.", Example: "alice:7 me",
	Cost: command.HolderLookup, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Parse: parseRelease, Reply: replyRelease,
}, {
	Name: "cc.holders", Syntax: "key", Group: "limiter",
	Summary: "List the leases of a concurrency limit.",
	Returns: "an array that alternates holder and remaining_ms.", Example: "alice:7",
	Cost: command.EntryList, Flags: command.ReadOnly, Keys: command.ReadKey, Parse: parseHolders, Reply: replyHolders,
}}

// leaseOp appends an operation that only concurrency limits have.
func leaseOp(r *command.Request, verb engine.Verb, who []byte) error {
	op := engine.Op{Verb: verb, Key: r.Args[1], Who: who}
	op.Limit.Algorithm = limits.Concurrency
	r.Ops = append(r.Ops, op)
	return r.Key(r.Args[1])
}

func parseRelease(r *command.Request) error {
	if err := holder(r.Args[2]); err != nil {
		return err
	}
	return leaseOp(r, engine.Release, r.Args[2])
}

func parseHolders(r *command.Request) error { return leaseOp(r, engine.Leases, nil) }

func replyRelease(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if !command.WriteFailure(w, &results[0]) {
		w.Int(results[0].Granted)
	}
}

func replyHolders(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if command.WriteFailure(w, &results[0]) {
		return
	}
	leases := results[0].Leases
	w.Array(2 * len(leases))
	for _, l := range leases {
		w.Bulk(l.Holder)
		w.Int(command.Millis(l.Remaining))
	}
	results[0].Leases = nil // results are reused, and must not keep up to 3 MB alive
}
