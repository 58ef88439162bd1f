package command

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

var classRows = []Row{{
	Name: "ht.acquire", Syntax: "class rate_capacity rate ceil_capacity ceil UNDER parent capacity rate [UNDER parent capacity rate ...] [TOKENS tokens] [PEEK]",
	Since: "0.2.0", Group: "limiter",
	Summary: "Take tokens (default 1) of a class in a tree: those that it is assured, or those that its ancestors, at most 3, have beyond " +
		"the assured capacities of their classes. A class is registered with its ancestors for 10 minutes after a request. Ancestors stand in order, the root last.",
	Returns: "[five integers](rate-limits.md#the-reply) of the class.", Example: "alice:10 5 1/h 10 2/h UNDER alice:11 20 4/h",
	Cost: HolderLookup, Flags: Write | Fast | MovableKeys | Decides, Parse: parseTree, Reply: replyTree,
}}

// The limits of a tree: a class is assured one, has another as its ceiling, and stands under nodes.
var (
	assuredSpec = limitSpec{word: "HT", algorithm: engine.TokenBucket, params: []string{"rate_capacity", "rate"}, read: bucketNamed("rate_capacity", "rate")}
	ceilingSpec = limitSpec{word: "HT", algorithm: engine.Class, params: []string{"ceil_capacity", "ceil"}, read: bucketNamed("ceil_capacity", "ceil")}
	nodeSpec    = limitSpec{word: "HT", algorithm: engine.Class, params: []string{"capacity", "rate"}, read: readBucket}
)

// bucketNamed reads a capacity and a rate whose arguments have these names.
func bucketNamed(capacity, tokensPerTime string) func(*Request, [][]byte) (engine.Limit, error) {
	return func(_ *Request, a [][]byte) (l engine.Limit, err error) {
		if l.Capacity, err = integerBetween(capacity, a[0], 1, engine.MaxTokens); err != nil {
			return l, err
		}
		l.Rate, err = rate(tokensPerTime, a[1])
		return l, err
	}
}

func parseTree(r *Request) error {
	first, words := len(r.parts), r.Args[6:]
	assured, err := r.limit(&assuredSpec, r.Args[2:4], 0)
	if err != nil {
		return err
	}
	if err := r.node(&ceilingSpec, r.Args[1], r.Args[4:6], 1); err != nil {
		return err
	}
	start := len(r.assured)
	r.assured = engine.AppendAssured(r.assured, assured.Capacity, assured.Rate)
	r.parts[first].Who = r.assured[start:len(r.assured):len(r.assured)]
	levels := 1
	for ; len(words) > 0 && isWord(words[0], "UNDER"); levels++ {
		if len(words) < 4 {
			return errTreeShort.With(len(words) - 1)
		}
		if levels < engine.MaxTreeLevels {
			if err := r.node(&nodeSpec, words[1], words[2:4], levels+1); err != nil {
				return err
			}
			for _, below := range r.parts[first : len(r.parts)-1] {
				if bytes.Equal(below.Key, words[1]) {
					return errTreeCircle.With(truncate(words[1], 64))
				}
			}
		}
		words = words[4:]
	}
	if levels < 2 || levels > engine.MaxTreeLevels {
		return errTreeLevels.With(engine.MaxTreeLevels-1, levels-1)
	}
	parts := r.parts[first:len(r.parts):len(r.parts)]
	r.Ops = append(r.Ops, engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: parts})
	op := &r.Ops[len(r.Ops)-1]
	if err := r.options(op, words, treeOptions); err != nil {
		return err
	}
	for i := range parts {
		parts[i].Tokens, parts[i].Options = op.Tokens, op.Options
	}
	return nil
}

var treeOptions = []option{optTokens, optPeek}

// node appends a node of a tree. position is that of its limit among the command's.
func (r *Request) node(k *limitSpec, key []byte, params [][]byte, position int) error {
	if err := r.key(key); err != nil {
		return err
	}
	l, err := r.limit(k, params, position)
	r.parts = append(r.parts, engine.Op{Key: key, Limit: l})
	return err
}

func replyTree(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if failed(w, res) {
		return
	}
	class := &res.Parts[0]
	w.Array(5)
	w.Int(res.Granted)
	w.Int(class.Limit)
	w.Int(class.Remaining)
	w.Int(millis(res.Wait))
	w.Int(millis(class.Reset))
}
