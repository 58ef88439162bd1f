package command

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

var allRows = []Row{{
	Name: "rl.all", Syntax: "spec ... [TOKENS tokens] [PEEK]", Since: "0.1.0", Group: "limiter",
	Summary: "Ask several limits at one instant, all or nothing. A spec is CL key max_burst count period, TB or LB key capacity rate, " +
		"FW, SW or SL key limit window, or CC key limit ttl holder. " + replyOfAll,
	Flags: Write | Fast | MovableKeys | Decides, Parse: parseAll, Reply: replyAll,
}}

const replyOfAll = "Replies granted, binding, wait_ms and, for each limit, limit, remaining, reset_ms."

func parseAll(r *Request) error {
	parts, words, err := r.specs(r.Args[1:])
	if err != nil {
		return err
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: parts})
	op := &r.Ops[len(r.Ops)-1]
	if err := r.options(op, words, []option{optTokens, optPeek}); err != nil {
		return err
	}
	for i := range parts {
		parts[i].Tokens, parts[i].Options = op.Tokens, op.Options
	}
	return nil
}

// specs reads limits up to the first word that begins none.
func (r *Request) specs(words [][]byte) (parts []engine.Op, rest [][]byte, err error) {
	first := len(r.parts)
	for len(words) > 0 {
		k := findSpec(words[0])
		if k == nil {
			break
		}
		size := 2 + k.args
		if k.holder {
			size++
		}
		if len(words) < size {
			return nil, nil, fmt.Errorf("ERR spec: %s needs %d arguments, got %d", k.word, size-1, len(words)-1)
		}
		position := len(r.parts) - first
		if position == engine.MaxParts {
			return nil, nil, fmt.Errorf("ERR spec: at most %d limits at once", engine.MaxParts)
		}
		r.parts = append(r.parts, engine.Op{})
		if words, err = r.ask(&r.parts[first+position], k, words[1:], position); err != nil {
			return nil, nil, err
		}
	}
	parts = r.parts[first:]
	if len(parts) == 0 {
		got := ""
		if len(words) > 0 {
			got = string(clip(words[0], 64))
		}
		return nil, nil, fmt.Errorf("ERR spec: must begin with one of %s, got '%s'", specWords(), got)
	}
	return parts[:len(parts):len(parts)], words, nil
}

func findSpec(word []byte) *kind {
	for i := range kinds {
		if k := &kinds[i]; k.word != "" && isWord(word, k.word) {
			return k
		}
	}
	return nil
}

func specWords() string {
	var words []string
	for _, k := range kinds {
		if k.word != "" {
			words = append(words, k.word)
		}
	}
	return strings.Join(words, " ")
}

func replyAll(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if failed(w, res) {
		return
	}
	w.Array(4)
	w.Int(res.Granted)
	w.Int(int64(res.Binding))
	w.Int(millis(res.Wait))
	w.Array(len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		w.Array(3)
		w.Int(p.Limit)
		w.Int(p.Remaining)
		w.Int(millis(p.Reset))
	}
}
