package limiter

import (
	"bytes"
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var lendRows = []command.Row{{
	Name: "rl.lend", Syntax: "key spec tokens holder number previous [ALL] [LEFT tokens] [FOR duration] [TZ zone] [FROM beginning] [HISTORY windows] [WARN percentage]", Group: "limiter",
	Summary: "Lend tokens of a limiter to a holder, which then grants requests by itself. A loan is at most an eighth of the remaining tokens, or with ALL up to all of them. The spec is TB, CL or LB with capacity and rate, or FW with limit and window. Nothing is lent if the spec differs from the key's present limit. The holder gives each operation a new number above 0. previous is the number in the last reply for this key, at first 0. An operation with a different previous is ignored, so that no tokens count twice after a lost reply. LEFT is the number of lent tokens that are not spent; the others are charged. After the duration FOR, the loan ends and all its tokens count as spent, unless another operation on it comes first.",
	Returns: "an array of granted, limit, remaining, held (the tokens that are now set aside for the holder) and number (that of the last operation; 0 if no tokens are set aside).",
	Example: "alice:1 TB 10 1/h 1 worker 1 0",
	Cost:    command.HolderLookup, Flags: command.Write | command.Fast | command.NotInScripts, Keys: command.ChangedKey, Parse: parseLend, Reply: replyLoan,
}, {
	Name: "rl.return", Syntax: "key holder number previous tokens [KEEP tokens]", Group: "limiter",
	Summary: "End a holder's loan: give back the tokens that it has not spent, and charge the rest. With KEEP, the loan goes on with that many tokens, which are neither given back nor charged.",
	Returns: "an array of returned, and the other fields of [`RL.LEND`](#rllend).",
	Example: "alice:1 worker 2 1 0",
	Cost:    command.HolderLookup, Flags: command.Write | command.Fast | command.NotInScripts, Keys: command.ChangedKey, Parse: parseReturn, Reply: replyLoan,
}, {
	Name: "rl.void", Syntax: "key holder [FORCE]", Group: "limiter",
	Summary: "End the loan of a holder that is gone; all tokens of the loan then count as spent. Without FORCE the command only reports the loan, because a holder that still runs could exceed the limit by these tokens.",
	Returns: "an array of voided, and the other fields of [`RL.LEND`](#rllend).",
	Example: "alice:1 worker",
	Cost:    command.HolderLookup, Flags: command.Write | command.Admin | command.NotInScripts, Keys: command.ChangedKey, Parse: parseVoid, Reply: replyLoan,
}, {
	Name: "rl.lent", Syntax: "key", Group: "limiter",
	Summary: "List the holders to which tokens of a limiter are lent.",
	Returns: "an array of holder, tokens and ttl_ms (-1 without FOR) for each loan.",
	Example: "alice:1",
	Cost:    command.HolderLookup, Flags: command.ReadOnly | command.Fast | command.NotInScripts, Keys: command.ReadKey, Parse: command.EachKey(engine.Loans), Reply: replyLent,
}}

var (
	optAll     = flag("ALL", engine.Whole)
	optLeft    = command.Option{Name: "LEFT", HasValue: true, Set: setLeft}
	optKept    = command.Option{Name: "KEEP", HasValue: true, Set: setKept}
	optLendFor = command.Option{Name: "FOR", HasValue: true, Set: setLendFor}
)

func setLeft(_ *command.Request, op *engine.Op, value []byte) error { return left(op, "LEFT", value) }

func setKept(_ *command.Request, op *engine.Op, value []byte) error {
	n, err := command.ParseIntegerBetween("KEEP", value, 0, limits.MaxTokens)
	op.Keep = engine.KeepTokens(n)
	return err
}

func setLendFor(_ *command.Request, op *engine.Op, value []byte) (err error) {
	op.MaxWait, err = command.ParseDuration("FOR", value)
	return err
}

func parseLend(r *command.Request) error {
	op := engine.Op{Verb: engine.Lend, Key: r.Args[1]}
	words, err := readLimitOfKey(r, &op, limits.Algorithm.CanBeLent, errNotLent, 4)
	if err != nil {
		return err
	}
	if op.Tokens, err = command.ParseIntegerBetween("tokens", words[0], 0, limits.MaxTokens); err != nil {
		return err
	}
	if err = readLoan(r, &op, words[1], words[2], words[3]); err != nil {
		return err
	}
	if err = r.Options(&op, words[4:], []command.Option{optAll, optLeft, optLendFor, optZone, optFrom, optHistory, optWarn}); err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return nil
}

// readLoan parses the holder and the numbers of an operation on a loan.
func readLoan(r *command.Request, op *engine.Op, who, number, previous []byte) error {
	if err := holder(who); err != nil {
		return err
	}
	for _, prefix := range []string{keyspace.NodeHolder, keyspace.GroupHolder} {
		if bytes.HasPrefix(who, []byte(prefix)) {
			return errNodeHolder.With(prefix)
		}
	}
	n, err := command.ParseIntegerBetween("number", number, 1, math.MaxInt64)
	if err != nil {
		return err
	}
	p, err := command.ParseIntegerBetween("previous", previous, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	if n == p {
		return command.ArgumentError("number", "must be another than previous", number)
	}
	op.Who, op.Loan = who, &engine.Loan{Number: uint64(n), Previous: uint64(p)}
	return nil
}

func parseReturn(r *command.Request) error {
	op := engine.Op{Verb: engine.Return, Key: r.Args[1]}
	if err := r.Key(op.Key); err != nil {
		return err
	}
	if err := readLoan(r, &op, r.Args[2], r.Args[3], r.Args[4]); err != nil {
		return err
	}
	if err := left(&op, "tokens", r.Args[5]); err != nil {
		return err
	}
	if err := r.Options(&op, r.Args[6:], []command.Option{optKept}); err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return nil
}

// left parses the number of tokens that a holder has not spent.
func left(op *engine.Op, name string, text []byte) (err error) {
	op.Loan.Left, err = command.ParseIntegerBetween(name, text, 0, limits.MaxTokens)
	return err
}

func parseVoid(r *command.Request) error {
	op := engine.Op{Verb: engine.Void, Key: r.Args[1], Who: r.Args[2]}
	if err := holder(op.Who); err != nil {
		return err
	}
	if err := r.Options(&op, r.Args[3:], []command.Option{optForce}); err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return r.Key(op.Key)
}

func replyLoan(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotHeld {
		w.Error(errNotHeld.With(res.Lent).Error())
		return
	}
	if command.WriteFailure(w, res) {
		return
	}
	w.Integers(res.Granted, res.Limit, res.Remaining, res.Lent, int64(res.Number))
}

func replyLent(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if command.WriteFailure(w, &results[0]) {
		return
	}
	all := results[0].LoansListed()
	w.Array(len(all))
	for _, one := range all {
		w.Array(3)
		w.Bulk(one.Holder)
		w.Int(one.Tokens)
		if one.Left == 0 {
			w.Int(engine.NeverExpires)
			continue
		}
		w.Int(command.Millis(one.Left))
	}
	results[0].Trim()
}
