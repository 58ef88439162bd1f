package gcra

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

var gcraRows = []command.Row{{
	Name: "gcra", Syntax: "key max-burst tokens-per-period period [TOKENS count]", Group: "rate_limit",
	Summary: "Limit by GCRA exactly as Redis's command of the same name does: it reads the time in milliseconds, and calculates in whole microseconds. `NUM_REQUESTS` is an older name of `TOKENS`. The key is data, not one of Stint's limiters. Unlike GCRA, [CL.THROTTLE](#clthrottle) decides exactly.",
	Returns: "limited, 0 or 1; max-burst + 1; tokens left; seconds until the request would be granted, -1 if it was granted or never will be; seconds until all tokens are back.",
	Example: "hits 15 30 60",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(func(c *data.Call) { gcraCall{c}.take() }),
}, {
	Name: "gcrasetvalue", Syntax: "key tat", Group: "rate_limit",
	Summary: "Set the theoretical arrival time of a key of GCRA, in Unix microseconds.",
	Returns: "`OK`.",
	Example: "hits 4102444800000000",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { gcraCall{c}.setValue() }),
}}

// gcraCall is a call of one of these commands.
type gcraCall struct{ *data.Call }

func (c gcraCall) take() {
	if len(c.Args) > 7 {
		c.Fail(command.WrongArity(command.LookUp(c.Args[0])))
		return
	}
	request, ok := c.request()
	if !ok {
		return
	}
	v, found, ok := c.Get(c.Args[1], engine.GCRAKind)
	if !ok {
		return
	}
	nowUs := c.Tx.Now() / 1e6 * 1e3 // within a command, Redis's clock has milliseconds
	arrivalUs := nowUs
	if found {
		arrivalUs = datatype.GCRA(v.Data).ArrivalTime()
	}
	d, overflow := request.Decide(nowUs, arrivalUs)
	switch overflow {
	case datatype.TokensOverflow:
		c.Fail(errGCRAOverflow.With("TOKENS"))
		return
	case datatype.BurstOverflow:
		c.Fail(errGCRAOverflow.With("max_burst"))
		return
	}
	if !d.Limited {
		c.set(d.ArrivalUs)
	}
	c.Writer.Array(5)
	c.Writer.Bool(d.Limited)
	for _, n := range []int64{request.Burst, d.Remaining, d.RetrySeconds, d.FullSeconds} {
		c.Writer.Int(n)
	}
}

// request parses the arguments of GCRA in Redis's order, and writes the error.
func (c gcraCall) request() (r datatype.GCRARequest, ok bool) {
	burst, ok := c.Positive(c.Args[2])
	if !ok {
		return r, false
	}
	r = datatype.GCRARequest{Burst: burst, Tokens: 1}
	if burst < math.MaxInt64 {
		r.Burst++
	}
	if r.TokensPerPeriod, ok = c.atLeastOne(c.Args[3]); !ok {
		return r, false
	}
	if r.PeriodSeconds, ok = data.ParseScore(c.Args[4]); !ok {
		c.Fail(data.ErrNotFloat)
		return r, false
	}
	if r.PeriodSeconds <= 0 || r.PeriodSeconds >= 1e12 {
		c.Fail(errPeriod)
		return r, false
	}
	if len(c.Args) == 5 {
		return r, true
	}
	switch word := gcraTokensWord(c.Args[5]); {
	case word == "":
		c.Fail(command.ErrSyntax)
		return r, false
	case len(c.Args) == 6:
		c.Fail(errMissingTokens.With(word))
		return r, false
	}
	r.Tokens, ok = c.atLeastOne(c.Args[6])
	return r, ok
}

// gcraTokensWord returns the name by which an argument asks for a number of tokens: TOKENS, or NUM_REQUESTS, which was
// its first name in Redis. It returns "" if the argument is another word.
func gcraTokensWord(arg []byte) string {
	for _, word := range []string{"TOKENS", "NUM_REQUESTS"} {
		if command.IsWord(arg, word) {
			return word
		}
	}
	return ""
}

// atLeastOne parses an integer of at least 1, and writes the error.
func (c gcraCall) atLeastOne(arg []byte) (n int64, ok bool) {
	n, ok = c.Integer(arg)
	if ok && n < 1 {
		c.Fail(errOutOfRange)
		return n, false
	}
	return n, ok
}

// set stores the arrival time of the key. The key expires after the millisecond of that time, so a time in the past
// deletes it.
func (c gcraCall) set(arrivalUs int64) {
	ms := arrivalUs / 1000
	if ms < c.Tx.Now()/1e6 {
		c.Tx.Delete(c.Args[1])
		return
	}
	c.Tx.Set(c.Args[1], engine.Value{Kind: engine.GCRAKind, ExpiresAt: data.ExpiryNanos(ms), Data: datatype.GCRAOf(arrivalUs)})
}

func (c gcraCall) setValue() {
	if _, _, ok := c.Get(c.Args[1], engine.GCRAKind); !ok {
		return
	}
	arrivalUs, ok := command.ParseRedisInt(c.Args[2])
	switch {
	case !ok:
		c.Fail(errArrivalTime)
	case arrivalUs < 0:
		c.Fail(errNegativeArrival)
	default:
		c.set(arrivalUs)
		c.Writer.Status("OK")
	}
}
