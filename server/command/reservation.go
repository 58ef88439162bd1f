package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/resp"
)

const settlementReply = "an array of charged, limit, remaining (below zero in debt) and reset_ms for each limit in the order of the request; null if the id is not known, or no longer."

var reservationRows = []Row{{
	Name: "rl.settle", Syntax: "key [tokens] [COSTS amount ...]", Group: "limiter",
	Summary: "Charge the limits of a request that was granted AS an id, its key, other amounts than it asked for: tokens for each limit without a COST, or with COSTS an amount for each limit, - for the one it asked for. Less goes back; more is taken, if need be as debt. Its leases end. Sent again, it changes nothing and is answered alike; other amounts are an error.",
	Returns: settlementReply, Example: "call:1 1",
	Cost: LogCopy, Flags: Write | Fast, Keys: changedKey, Parse: parseSettle, Reply: replySettle,
}, {
	Name: "rl.cancel", Syntax: "key", Group: "limiter",
	Summary: "Give back all that a request took that was granted AS an id, its key, and end its leases.",
	Returns: settlementReply, Example: "call:1",
	Cost: LogCopy, Flags: Write | Fast, Keys: changedKey, Parse: parseCancel, Reply: replySettle,
}}

var (
	optAs  = option{name: "AS", hasValue: true, set: setAs}
	optFor = option{name: "FOR", hasValue: true, set: setFor}
)

func setAs(r *Request, _ *engine.Op, value []byte) error {
	if len(value) == 0 {
		return errEmptyID
	}
	r.hasID, r.id = true, value
	return r.key(value)
}

func setFor(r *Request, _ *engine.Op, value []byte) (err error) {
	r.remember, err = duration("FOR", value)
	return err
}

// beginReservable prepares the request for a command that may have AS and FOR.
func (r *Request) beginReservable() { r.hasID, r.id, r.remember = false, nil, 0 }

// reserved makes the last operation one that is remembered, if AS and FOR say so.
func (r *Request) reserved() error {
	switch {
	case !r.hasID && r.remember == 0:
		return nil
	case !r.hasID:
		return errForWithoutAs
	case r.remember == 0:
		return errAsWithoutFor
	}
	op := &r.Ops[len(r.Ops)-1]
	r.parts = append(r.parts, *op)
	at := len(r.parts)
	*op = engine.Op{Verb: engine.Reserve, Key: r.id, MaxWait: r.remember, Parts: r.parts[at-1 : at : at]}
	return nil
}

func parseSettle(r *Request) error {
	id, words := r.Args[1], r.Args[2:]
	if err := r.key(id); err != nil {
		return err
	}
	op := engine.Op{Verb: engine.Settle, Key: id, Tokens: 1}
	if len(words) == 0 {
		return errNoValue.With("tokens")
	}
	if !isWord(words[0], "COSTS") {
		var err error
		if op.Tokens, err = integerBetween("tokens", words[0], 0, limits.MaxTokens); err != nil {
			return err
		}
		if len(words) > 1 {
			return unknownOption(r.command(), words[1], optionNames(nil))
		}
		r.Ops = append(r.Ops, op)
		return nil
	}
	first, words := len(r.parts), words[1:]
	if len(words) == 0 {
		return errNoValue.With("COSTS")
	}
	if len(words) > engine.MaxParts {
		return errTooManySpecs.With(engine.MaxParts)
	}
	for _, word := range words {
		part := engine.Op{}
		if string(word) != "-" {
			n, err := integerBetween("COSTS", word, 0, limits.MaxTokens)
			if err != nil {
				return err
			}
			part.Tokens, part.Options = n, engine.FixedCost
		}
		r.parts = append(r.parts, part)
	}
	op.Parts = r.parts[first:len(r.parts):len(r.parts)]
	r.Ops = append(r.Ops, op)
	return nil
}

func parseCancel(r *Request) error {
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Settle, Options: engine.Cancel, Key: r.Args[1], Tokens: 1})
	return r.key(r.Args[1])
}

func replySettle(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotFound {
		w.Null()
		return
	}
	if failed(w, res) {
		return
	}
	w.Array(len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		w.Array(4)
		w.Int(p.Granted)
		w.Int(p.Limit)
		w.Int(p.Remaining)
		w.Int(Millis(p.Reset))
	}
}
