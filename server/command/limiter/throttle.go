package limiter

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var throttleRows = []command.Row{{
	Name: "cl.throttle", Alias: "rl.throttle", Syntax: "key max_burst count period [quantity]", Group: "limiter",
	Summary: "Request tokens from a GCRA limiter of max_burst+1 tokens, which refills by count tokens in period seconds, as in redis-cell.",
	Returns: "five integers: limited (0 allowed, 1 limited), limit (max_burst + 1), remaining, retry_after in seconds (-1 if allowed, or if the quantity exceeds the limit), reset_after in seconds. See [migrate/redis-cell.md](migrate/redis-cell.md).",
	Example: "alice:1 4 1 60",
	Cost:    command.Light, Flags: command.Write | command.Fast | command.Decides, Keys: command.ChangedKey, Parse: parseThrottle, Reply: replyThrottle,
}}

func parseThrottle(r *command.Request) error {
	a := r.Args
	if len(a) > 6 {
		return command.WrongArity(command.LookUp(a[0]))
	}
	op := r.AddOp(engine.Acquire)
	quantity, err := readSpec(r, op, specOf(limits.GCRA), a[1:], 0)
	if err == nil && len(quantity) > 0 {
		op.Tokens, err = command.ParseIntegerBetween("quantity", quantity[0], 0, limits.MaxTokens)
	}
	return err
}

func replyThrottle(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	res := &results[0]
	if command.WriteFailure(w, res) {
		return
	}
	retry := int64(-1)
	if !res.Allowed && res.Wait >= 0 {
		retry = max(1, throttleSeconds(res.Wait))
	}
	denied := int64(1)
	if res.Allowed {
		denied = 0
	}
	w.Integers(denied, res.Limit, res.Remaining, retry, throttleSeconds(res.Reset))
}

// throttleSeconds rounds as redis-cell does: up to the next second, after truncating to milliseconds.
func throttleSeconds(nanos int64) int64 {
	return (nanos/int64(time.Millisecond) + 999) / 1000
}
