package limiter

import (
	"math"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var balanceRows = []command.Row{since("0.3.0", acquireRow("bal.acquire", limits.Balance, "key [tokens] [PEEK] [UPTO | FORCE] [AS id FOR duration]", "alice:13",
	"Spend credits (default 1) of a balance, beginning with those that expire first.", optPeek, optUpTo, optForce, optAs, optFor)), {
	Name: "bal.add", Syntax: "key credits AS payment-id [EXPIRE unix-seconds]", Group: "limiter", Since: "0.3.0",
	Summary: "Add the credits of a payment to a balance. Repeating the command with the same payment-id adds nothing. At the time EXPIRE, a Unix time and not a duration, the credits that are left expire; credits whose time has passed add nothing. A balance has at most 256 such times. The payment-id is a key, which is kept for 10 years.",
	Returns: "an array of the payment's credits and the present balance.",
	Example: "alice:13 500 AS payment:1", Cost: command.HolderLookup, Flags: command.Write | command.Fast | command.NotInScripts, Keys: command.ChangedKey, Parse: parseAddCredits, Reply: replyAddCredits,
}, {
	Name: "bal.info", Syntax: "key", Group: "limiter", Since: "0.3.0",
	Summary: "Show a balance, and the credits of which it consists.",
	Returns: "a map of balance (negative in debt) and grants. grants is an array of pairs in the order of spending: the credits left, and the Unix second at which they expire, or null if they never expire. The reply is null if the key does not exist.",
	Example: "alice:13", Cost: command.HolderLookup, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Parse: command.EachKey(engine.ListCredits), Reply: replyCredits,
}}

// since gives a row the first version that has it.
func since(version string, row command.Row) command.Row {
	row.Since = version
	return row
}

// firstExpiry is the first Unix second that EXPIRE takes, in 2001. A smaller number is a duration by mistake. A time that
// has passed since is taken, because a payment that is repeated gets the same reply again.
const firstExpiry = 1_000_000_000

var optExpire = command.Option{Name: "EXPIRE", HasValue: true, Set: func(_ *command.Request, op *engine.Op, value []byte) error {
	at, err := command.ParseIntegerBetween("EXPIRE", value, firstExpiry, math.MaxInt64/int64(time.Second))
	op.PriorAt = at * int64(time.Second)
	return err
}}

func parseAddCredits(r *command.Request) (err error) {
	beginReservable(r)
	op := engine.Op{Verb: engine.AddCredits, Key: r.Args[1], Limit: limits.Limit{Algorithm: limits.Balance}}
	if err := r.Key(op.Key); err != nil {
		return err
	}
	if op.Tokens, err = command.ParseIntegerBetween("credits", r.Args[2], 1, limits.MaxTokens); err != nil {
		return err
	}
	if err := r.Options(&op, r.Args[3:], []command.Option{optAs, optExpire}); err != nil {
		return err
	}
	if !r.HasID {
		return errNoPayment
	}
	r.Remember = limits.MaxDuration
	r.Ops = append(r.Ops, op)
	return reserveIfAsked(r)
}

func replyAddCredits(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if res := &results[0]; !command.WriteFailure(w, res) {
		w.Integers(res.Granted, res.Remaining)
	}
}

func replyCredits(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotFound {
		w.Null()
		return
	}
	if command.WriteFailure(w, res) {
		return
	}
	grants := res.Credits()
	command.WriteFields(w, []command.Field{{Name: "balance", Value: res.Remaining}, {Name: "grants", Value: func(w *resp.Writer) {
		w.Array(len(grants))
		for _, g := range grants {
			w.Array(2)
			w.Int(g.Added - g.Spent)
			if g.Expires == math.MaxInt64 {
				w.Null()
			} else {
				w.Int(g.Expires / int64(time.Second))
			}
		}
	}}})
	res.Trim()
}
