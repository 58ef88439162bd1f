package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var allRows = []command.Row{{
	Name: "rl.all", Syntax: "spec ... [TOKENS tokens] [PEEK] [MAXWAIT duration | BLOCK duration [PRIORITY priority]] [AS id FOR duration] [SPLIT]", Group: "limiter",
	Summary: "Take tokens from all of several limits, or from none of them. Each spec is one of: " + specSyntax() + ". ELSE before a BAL at the end takes from this balance what the limits before it cannot give. After a spec, COST gives the number of " +
		"tokens to take from this limit, and KEEP gives the number that must remain. WARN percentage adds the field warn to the reply, which is 1 " +
		"once this percentage of the limit is used. SPREAD tells denied callers to come back one after the other. With MAXWAIT or BLOCK, the request " +
		"may wait for buckets and queues, but windows, leases and limits with a KEEP must grant it at once. BLOCK also lets it wait for a place of " +
		"the first CC, as in CC.ACQUIRE, before it asks the other limits.",
	Returns: "an array of granted, binding (the position, from 0, of the limit that denied with the longest wait; -1 after a grant), wait_ms (after a " +
		"grant, the longest among the limits), and an array of limit, remaining and reset_ms for each limit, with WARN also warn. With SPLIT and a " +
		"BAL, each limit has five integers: limit, remaining, reset_ms, warn (-1 without WARN) and granted, the tokens taken from it.",
	Example: "TB mine:1 5 1/h CC alice:1 5 1m me",
	Cost:    command.HolderLookup, Flags: command.Write | command.Fast | command.MovableKeys | command.Decides | command.Blocking, Parse: parseAll, Reply: replyAll,
}}

func parseAll(r *command.Request) error {
	beginReservable(r)
	parts, words, err := readSpecs(r, r.Args[1:])
	if err != nil {
		return err
	}
	op := r.AddOp(engine.AcquireAll)
	op.Tokens, op.Parts = 1, parts
	if err := r.Options(op, words, allOptions); err != nil {
		return err
	}
	for i := range parts {
		if parts[i].Options&engine.FixedCost == 0 {
			parts[i].Tokens = op.Tokens
		}
		parts[i].Options |= op.Options
	}
	op.SetMaxWait(op.MaxWait)
	if err := waitForPlace(r, op); err != nil {
		return err
	}
	return reserveIfAsked(r)
}

var allOptions = []command.Option{optTokens, optPeek, optMaxWait, optBlock, optPriority, optAs, optFor, optSplit}

func replyAll(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	res := &results[0]
	if command.WriteFailure(w, res) {
		return
	}
	w.Array(4)
	w.Ints(res.Granted, int64(res.Binding), command.Millis(res.Wait))
	writeLimits(w, &ops[0], res)
}

// writeLimits writes the state of each limit of a request.
func writeLimits(w *resp.Writer, op *engine.Op, res *engine.Result) {
	w.Array(len(res.Parts))
	splits := w.Shape == resp.Split && endsWithBalance(op, res)
	for i := range res.Parts {
		p := &res.Parts[i]
		percent := percentOf(op, res, i, w.Shape)
		if splits {
			warns := int64(-1)
			if percent > 0 {
				warns = warnField(p, percent)
			}
			w.Integers(p.Limit, p.Remaining, command.Millis(p.Reset), warns, p.Granted)
			continue
		}
		if percent == 0 {
			w.Integers(p.Limit, p.Remaining, command.Millis(p.Reset))
			continue
		}
		w.Integers(p.Limit, p.Remaining, command.Millis(p.Reset), warnField(p, percent))
	}
}

// optSplit asks for what was taken from each limit, if the last is a balance. Without it the reply has no such fields,
// because callers may be older than a policy's balance.
var optSplit = command.Option{Name: "SPLIT", Set: func(r *command.Request, _ *engine.Op, _ []byte) error { r.Shape = resp.Split; return nil }}

// endsWithBalance reports whether the last limit of a request is a balance.
func endsWithBalance(op *engine.Op, res *engine.Result) bool {
	last := len(res.Parts) - 1
	if op = op.Request(); last < 0 || op.Verb != engine.AcquireAll {
		return last >= 0 && res.Parts[last].Number&engine.OfBalance != 0
	}
	return op.Parts[last].Limit.Algorithm == limits.Balance
}
