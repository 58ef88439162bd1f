package limiter

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// usualGrants is the default COUNT of SL.LOG.
const usualGrants = 100

var logRows = []command.Row{{
	Name: "sl.log", Syntax: "key [COUNT count]", Group: "limiter",
	Summary: "List the newest grants in the window of a sliding log, the newest last.",
	Returns: "an array of pairs: the time of a grant, in milliseconds since the Unix epoch, and its tokens. COUNT is 100 by default and at most 10000. `RL.REFUND` removes the newest grants first. Grants at the same instant share a pair.",
	Example: "alice:6",
	Cost:    command.EntryList, Flags: command.ReadOnly, Keys: command.ReadKey, Parse: parseLog, Reply: replyLog,
}}

var optCount = command.Option{Name: "COUNT", HasValue: true, Set: setCount}

func setCount(_ *command.Request, op *engine.Op, value []byte) (err error) {
	op.Tokens, err = command.ParseIntegerBetween("COUNT", value, 1, engine.MaxGrants)
	return err
}

func parseLog(r *command.Request) error {
	op := engine.Op{Verb: engine.ListLog, Key: r.Args[1], Tokens: usualGrants}
	if err := r.Options(&op, r.Args[2:], []command.Option{optCount}); err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return r.Key(op.Key)
}

func replyLog(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if command.WriteFailure(w, &results[0]) {
		return
	}
	grants := results[0].Grants()
	w.Array(len(grants))
	for _, g := range grants {
		w.Array(2)
		w.Int(g.Time / int64(time.Millisecond))
		w.Int(g.Tokens)
	}
	results[0].Trim()
}
