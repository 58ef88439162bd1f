package limiter

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var reservationRows = []command.Row{{
	Name: "rl.extend", Syntax: "key n tokens [UPTO] [FOR duration] [SPLIT]", Group: "limiter",
	Summary: "Take more tokens for a request that goes on, from all its limits without a COST, or from none of them. The key is the id that followed AS in the request; n is the number of the extension, counted from 1. Leases are renewed. Repeating the last extension takes nothing. UPTO grants as many tokens as all these limits can give. FOR keeps the id for at least this duration from now on.",
	Returns: "as [`RL.ALL`](#rlall), with warn only if SPLIT is given, and at the end the tokens granted to the request and all its extensions together; null if the id is unknown or forgotten. With SPLIT, granted also includes all extensions.", Example: "call:1 1 2 UPTO",
	Cost: command.LogCopy, Flags: command.Write | command.Fast | command.Decides, Keys: command.ChangedKey, Parse: parseExtend, Reply: replyExtend,
}, {
	Name: "rl.settle", Syntax: "key [tokens] [COSTS amount ...]", Group: "limiter",
	Summary: "Charge the amounts that a request really used instead of those that it took. The key is the id that followed AS in the request. tokens is the amount for each limit without a COST. COSTS gives an amount for each limit; - stands for the amount that was asked for. Unused tokens go back. If more was used, the rest is taken, if necessary as debt. The request's leases end. Repeating the command changes nothing.",
	Returns: "an array of charged, limit, remaining and reset_ms for each limit of the request; null if the id is unknown or forgotten.", Example: "call:1 1",
	Cost: command.LogCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Parse: parseSettle, Reply: replySettle,
}, {
	Name: "rl.cancel", Syntax: "key", Group: "limiter",
	Summary: "Give back everything that a request took, and end its leases. The key is the id that followed AS in the request.",
	Returns: "as [`RL.SETTLE`](#rlsettle).", Example: "call:1",
	Cost: command.LogCopy, Flags: command.Write | command.Fast, Keys: command.ChangedKey, Parse: parseCancel, Reply: replySettle,
}}

var (
	optAs  = command.Option{Name: "AS", HasValue: true, Excludes: []string{"PEEK", "BLOCK"}, Set: setAs}
	optFor = command.Option{Name: "FOR", HasValue: true, Set: setFor}
)

func setAs(r *command.Request, _ *engine.Op, value []byte) error {
	if len(value) == 0 {
		return errEmptyID
	}
	r.HasID, r.ID = true, value
	return r.Key(value)
}

func setFor(r *command.Request, _ *engine.Op, value []byte) (err error) {
	r.Remember, err = r.Duration("FOR", value)
	return err
}

// beginReservable prepares the request for a command that may have AS and FOR.
func beginReservable(r *command.Request) { r.HasID, r.ID, r.Remember = false, nil, 0 }

// reserveIfAsked turns the last operation into a reservation if AS and FOR were given.
func reserveIfAsked(r *command.Request) error {
	switch {
	case !r.HasID && r.Remember == 0:
		return nil
	case !r.HasID:
		return errForWithoutAs
	case r.Remember == 0:
		return errAsWithoutFor
	}
	op := &r.Ops[len(r.Ops)-1]
	r.Parts = append(r.Parts, *op)
	at := len(r.Parts)
	*op = engine.Op{}
	op.Verb, op.Key, op.MaxWait, op.Parts = engine.Reserve, r.ID, r.Remember, r.Parts[at-1:at:at]
	return nil
}

func parseExtend(r *command.Request) error {
	r.Remember = 0
	words := r.Args
	nth, err := command.ParseIntegerBetween("n", words[2], 1, engine.MaxExtensions)
	if err != nil {
		return err
	}
	tokens, err := command.ParseIntegerBetween("tokens", words[3], 1, limits.MaxTokens)
	if err != nil {
		return err
	}
	if err := r.Key(words[1]); err != nil {
		return err
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Extend, Key: words[1], Nth: uint32(nth), Tokens: tokens})
	op := &r.Ops[len(r.Ops)-1]
	err = r.Options(op, words[4:], []command.Option{optUpTo, optFor, optSplit})
	op.MaxWait = r.Remember
	return err
}

func replyExtend(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotFound {
		w.Null()
		return
	}
	if command.WriteFailure(w, res) {
		return
	}
	w.Array(5)
	w.Ints(res.Granted, int64(res.Binding), command.Millis(res.Wait))
	writeLimits(w, &ops[0], res)
	w.Ints(int64(res.Number))
}

func parseSettle(r *command.Request) error {
	id, words := r.Args[1], r.Args[2:]
	if err := r.Key(id); err != nil {
		return err
	}
	op := r.AddOp(engine.Settle)
	op.Key = id
	if len(words) == 0 {
		return command.ErrNoValue.With("tokens")
	}
	if !command.IsWord(words[0], "COSTS") {
		var err error
		if op.Tokens, err = command.ParseIntegerBetween("tokens", words[0], 0, limits.MaxTokens); err == nil && len(words) > 1 {
			err = command.UnknownOption(r.Command(), words[1], command.OptionNames(nil))
		}
		return err
	}
	first, words := len(r.Parts), words[1:]
	if len(words) == 0 {
		return command.ErrNoValue.With("COSTS")
	}
	if len(words) > engine.MaxParts {
		return errTooManySpecs.With(engine.MaxParts)
	}
	for _, word := range words {
		part := engine.Op{}
		if string(word) != "-" {
			n, err := command.ParseIntegerBetween("COSTS", word, 0, limits.MaxTokens)
			if err != nil {
				return err
			}
			part.Tokens, part.Options = n, engine.FixedCost
		}
		r.Parts = append(r.Parts, part)
	}
	op.Tokens, op.Parts = 1, r.Parts[first:len(r.Parts):len(r.Parts)]
	return nil
}

func parseCancel(r *command.Request) error {
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Settle, Options: engine.Cancel, Key: r.Args[1], Tokens: 1})
	return r.Key(r.Args[1])
}

func replySettle(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotFound {
		w.Null()
		return
	}
	if command.WriteFailure(w, res) {
		return
	}
	w.Array(len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		w.Integers(p.Granted, p.Limit, p.Remaining, command.Millis(p.Reset))
	}
}
