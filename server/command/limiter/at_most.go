package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var atMostRows = []command.Row{{
	Name: "rl.atmost", Syntax: "key spec tokens [TZ zone] [FROM beginning] [HISTORY windows] [WARN percentage]", Group: "limiter",
	Summary: "Take tokens of a limit until at most the given number remains. Use it to follow a limit that somebody else counts: after a response with " +
		"x-ratelimit-remaining: 40, leave at most 40. The spec is TB, CL or LB with capacity and rate, or FW, SW or SL with limit and window. It " +
		"never gives tokens back.",
	Returns: "[the integers](rate-limits.md#the-reply) of the limit's own command. The first is the number of tokens taken.",
	Example: "alice:1 TB 5 1/h 2",
	Cost:    command.LogCopy, Flags: command.Write | command.Fast | command.NotInScripts, Keys: command.ChangedKey, Parse: parseAtMost, Reply: replyAtMost,
}}

// parseAtMost parses a request for as many tokens as there are that keeps those to be left.
func parseAtMost(r *command.Request) error {
	op := engine.Op{Key: r.Args[1], Options: engine.UpTo}
	words, err := readLimitOfKey(r, &op, limits.Algorithm.Keeps, errNotAtMost, 1)
	if err != nil {
		return err
	}
	left, err := command.ParseIntegerBetween("tokens", words[0], 0, limits.MaxTokens)
	if err != nil {
		return err
	}
	if op.Tokens, op.Keep = op.Limit.Capacity, engine.KeepTokens(left); left == 0 {
		op.Keep = engine.KeepNothing // so that no holder of tokens answers with its part of the limit alone
	}
	if err := r.Options(&op, words[1:], []command.Option{optZone, optFrom, optHistory, optWarn}); err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return nil
}

// replyAtMost writes no wait: what remains is meant to remain.
func replyAtMost(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	results[0].Wait = 0
	replyAcquire(w, ops, results)
}
