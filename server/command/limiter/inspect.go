package limiter

import (
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var inspectRows = []command.Row{{
	Name: "rl.info", Syntax: "key", Group: "limiter",
	Summary: "Show a key's limiter: its algorithm, the parameters last used, and its usage.",
	Returns: "a map of algorithm, the parameters of the limit (named as in its command), limit, taken, remaining, reset_ms, and lent if tokens are lent " +
		"to holders. A fair share also has members, their number. A class has assured_capacity and assured_rate; an ancestor has classes, the number " +
		"registered under it, and assured_to_classes, the sum of their capacities. An adaptive rate has present_rate in tokens per second, and " +
		"pause_ms. The reply is null if the key does not exist.",
	Example: "alice:1",
	Cost:    command.HolderLookup, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Parse: command.EachKey(engine.Look), Reply: replyInfo,
}, {
	Name: "rl.refund", Syntax: "key tokens", Group: "limiter",
	Summary: "Return tokens to a limiter, at most as many as were taken.",
	Returns: "the remaining tokens after the refund, an integer, negative while the limiter is in debt; null if nothing was taken.",
	Example: "alice:1 1",
	Cost:    command.LogCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Parse: parseRefund, Reply: replyRefund,
}}

func parseRefund(r *command.Request) error {
	tokens, err := command.ParseIntegerBetween("tokens", r.Args[2], 1, limits.MaxTokens)
	if err != nil {
		return err
	}
	if err := r.Key(r.Args[1]); err != nil {
		return err
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Refund, Key: r.Args[1], Tokens: tokens})
	return nil
}

func replyRefund(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Null()
		return
	}
	if command.WriteFailure(w, &results[0]) {
		return
	}
	w.Int(results[0].Remaining)
}

func replyInfo(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotFound {
		w.Null()
		return
	}
	if res.Held.Algorithm.IsValue() || res.Held.Algorithm == limits.Reservation {
		w.Error(command.ErrHoldsData.With(res.Held.Algorithm).Error())
		return
	}
	params := slices.DeleteFunc(res.Held.Params(), func(p limits.Param) bool { return p.Name == "limit" }) // reported as a separate field
	params = append(params, res.Details()...)
	fields := []command.Field{{Name: "algorithm", Value: res.Held.Algorithm.String()}}
	for _, p := range params {
		fields = append(fields, command.Field{Name: p.Name, Value: p.Text})
	}
	fields = append(fields, command.Field{Name: "limit", Value: res.Limit}, command.Field{Name: "taken", Value: res.Limit - res.Remaining - res.Lent},
		command.Field{Name: "remaining", Value: res.Remaining}, command.Field{Name: "reset_ms", Value: command.Millis(res.Reset)})
	if res.Lent > 0 {
		fields = append(fields, command.Field{Name: "lent", Value: res.Lent})
	}
	command.WriteFields(w, fields)
}
