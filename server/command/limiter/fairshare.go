package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var shareRows = []command.Row{acquireRow("fs.acquire", limits.FairShare, "key capacity rate member [tokens] [WEIGHT weight] [PEEK]", "alice:9 5 1/h me",
	"Take tokens (default 1) from a token bucket whose active members share its refill by weight. remaining is the number of tokens that this member can still take.", optWeight, optPeek), {
	Name: "fs.members", Syntax: "key", Group: "limiter",
	Summary: "List the active members of a fair share. A member is active until the refill has given back all tokens that it took.",
	Returns: "an array of triples in the order of the names: the member, its weight, and the tokens it has taken, rounded up.", Example: "alice:9",
	Cost: command.EntryList, Flags: command.ReadOnly, Keys: command.ReadKey, Parse: command.EachKey(engine.ListMembers), Reply: replyMembers,
}}

var optWeight = command.Option{Name: "WEIGHT", HasValue: true, Set: setWeight}

func setWeight(_ *command.Request, op *engine.Op, value []byte) (err error) {
	if limit := op.Limit.Algorithm; !limit.Weighs() {
		return errWeighsNothing.With(specOf(limit).word)
	}
	op.Weight, err = command.ParseIntegerBetween("WEIGHT", value, 1, engine.MaxWeight)
	return err
}

func replyMembers(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if command.WriteFailure(w, &results[0]) {
		return
	}
	members := results[0].Members()
	w.Array(len(members))
	for _, m := range members {
		w.Array(3)
		w.Bulk(m.Name)
		w.Int(m.Weight)
		w.Int(m.Taken)
	}
	results[0].Trim()
}
