package limiter

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var classRows = []command.Row{{
	Name: "ht.acquire", Syntax: "class rate_capacity rate ceil_capacity ceil UNDER parent capacity rate [UNDER parent capacity rate ...] [TOKENS tokens] [PEEK]",
	Group: "limiter",
	Summary: "Take tokens (default 1) of a class in a tree: from its assured tokens, or from what its ancestors, at most 3, have in addition to " +
		"the assured capacities of their classes. A class is registered with its ancestors for 10 minutes after a request. The ancestors are given in order, the root last.",
	Returns: "[five integers](rate-limits.md#the-reply) of the class.", Example: "alice:10 5 1/h 10 2/h UNDER alice:11 20 4/h",
	Cost: command.HolderLookup, Flags: command.Write | command.Fast | command.MovableKeys | command.Decides, Parse: parseTree, Reply: replyTree,
}}

// A class is represented by the limit of its ceiling, together with its assured rate. The limits of its ancestors
// follow.
var readAssured, readCeiling = bucketNamed("rate_capacity", "rate", 0), bucketNamed("ceil_capacity", "ceil", 2)

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
	r.Ops = append(r.Ops, engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: parts})
	op := &r.Ops[len(r.Ops)-1]
	if err := r.Options(op, words, treeOptions); err != nil {
		return err
	}
	for i := range parts {
		parts[i].Tokens, parts[i].Options = op.Tokens, op.Options
	}
	return nil
}

var treeOptions = []command.Option{optTokens, optPeek}

// checkTrees refuses incomplete trees of classes. A COST at any node of a tree applies to the whole tree.
func checkTrees(parts []engine.Op) error {
	for first := 0; first < len(parts); {
		if parts[first].Limit.Algorithm != limits.Class {
			first++
			continue
		}
		end := first + 1
		for end < len(parts) && isAncestor(&parts[end]) {
			end++
		}
		if levels := end - first; isAncestor(&parts[first]) {
			return errTreeWithoutClass
		} else if levels < 2 || levels > engine.MaxTreeLevels {
			return errTreeLevels.With(engine.MaxTreeLevels-1, levels-1)
		}
		cost := parts[first]
		for i := first; i < end; i++ {
			for _, below := range parts[first:i] {
				if bytes.Equal(below.Key, parts[i].Key) {
					return errTreeCircle.With(command.Truncate(parts[i].Key, 64))
				}
			}
			if parts[i].Options&engine.FixedCost != 0 {
				cost = parts[i]
			}
		}
		for i := first; i < end; i++ {
			parts[i].Tokens, parts[i].Options = cost.Tokens, cost.Options
		}
		first = end
	}
	return nil
}

// isAncestor reports whether a limit belongs to an ancestor of a class.
func isAncestor(op *engine.Op) bool { return op.Limit.Algorithm == limits.Class && len(op.Who) == 0 }

func replyTree(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if command.WriteFailure(w, res) {
		return
	}
	class := &res.Parts[0]
	w.Integers(class.Granted, class.Limit, class.Remaining, command.Millis(res.Wait), command.Millis(class.Reset))
}
