package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var classRows = []command.Row{{
	Name: "ht.acquire", Syntax: "class rate_capacity rate ceil_capacity ceil UNDER parent capacity rate [UNDER parent capacity rate ...] [TOKENS tokens] [PEEK]",
	Group: "limiter",
	Summary: "Take tokens (default 1) of a class in a tree. The class has its assured tokens, and may borrow those tokens of its ancestors that are not " +
		"assured to any class. A class has 1 to 3 ancestors, the root last.",
	Returns: "[five integers](rate-limits.md#the-reply) of the class.", Example: "alice:10 5 1/h 10 2/h UNDER alice:11 20 4/h",
	Cost: command.HolderLookup, Flags: command.Write | command.Fast | command.MovableKeys | command.Decides, Parse: parseTree, Reply: replyTree,
}}

func parseTree(r *command.Request) error {
	first := len(r.Parts)
	words, err := appendSpec(r, specOf(limits.Class), r.Args[1:], first)
	for err == nil && len(words) > 0 && command.IsWord(words[0], ancestorSpec.word) {
		words, err = appendSpec(r, ancestorSpec, words[1:], first)
	}
	if err != nil {
		return err
	}
	parts := r.Parts[first:len(r.Parts):len(r.Parts)]
	if err := checkTrees(parts); err != nil {
		return err
	}
	op := r.AddOp(engine.AcquireAll)
	op.Tokens, op.Parts = 1, parts
	if err := r.Options(op, words, treeOptions); err != nil {
		return err
	}
	for i := range parts {
		parts[i].Tokens, parts[i].Options = op.Tokens, op.Options
	}
	return nil
}

var treeOptions = []command.Option{optTokens, optPeek}

func replyTree(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if command.WriteFailure(w, res) {
		return
	}
	class := &res.Parts[0]
	w.Integers(class.Granted, class.Limit, class.Remaining, command.Millis(res.Wait), command.Millis(class.Reset))
}
