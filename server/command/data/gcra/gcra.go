package gcra

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// GCRA as Redis's source has it, and its clients send it: see redis/redis#14826. Its keys are data, and no limiter's.

var gcraRows = []command.Row{{
	Name: "gcra", Syntax: "key max-burst tokens-per-period period [TOKENS count]", Group: "rate_limit",
	Summary: "Limit by GCRA, as Redis's command of that name: in whole microseconds, on a clock of milliseconds. `NUM_REQUESTS` is an older name of `TOKENS`. The key is no limiter's of Stint: [CL.THROTTLE](#clthrottle) is exact.",
	Returns: "limited, 0 or 1; max-burst + 1; tokens left; seconds until the request would be granted, -1 if it was, or never will be; seconds until all tokens are back.",
	Example: "hits 15 30 60",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.UsedKey, Data: data.Code(func(c *data.Call) { gcraCall{c}.take() }),
}, {
	Name: "gcrasetvalue", Syntax: "key tat", Group: "rate_limit",
	Summary: "Set the theoretical arrival time of a key of GCRA, in Unix microseconds.",
	Returns: "`OK`.",
	Example: "hits 4102444800000000",
	Cost:    command.ValueCopy, Flags: command.Write | command.DenyOOM | command.Fast, Keys: command.ChangedKey, Data: data.Code(func(c *data.Call) { gcraCall{c}.setValue() }),
}}

// gcraCall is a call of these commands.
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
	v, found, ok := c.Get(c.Args[1], limits.GCRAValue)
	if !ok {
		return
	}
	nowUs := c.Tx.Now() / 1e6 * 1e3 // Redis's clock of a command has milliseconds
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

// request reads the arguments of GCRA, in Redis's order, or writes the error.
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

// gcraTokensWord is the option for the number of tokens that a word is: TOKENS, or as Redis called it at first. "" if it is another.
func gcraTokensWord(arg []byte) string {
	for _, word := range []string{"TOKENS", "NUM_REQUESTS"} {
		if command.IsWord(arg, word) {
			return word
		}
	}
	return ""
}

// atLeastOne reads an integer, and writes the error of one that is less than 1.
func (c gcraCall) atLeastOne(arg []byte) (n int64, ok bool) {
	n, ok = c.Integer(arg)
	if ok && n < 1 {
		c.Fail(errOutOfRange)
		return n, false
	}
	return n, ok
}

// set writes the arrival time of the key. It expires with the millisecond of that time, so one in the past is gone at once.
func (c gcraCall) set(arrivalUs int64) {
	ms := arrivalUs / 1000
	if ms < c.Tx.Now()/1e6 {
		c.Tx.Delete(c.Args[1])
		return
	}
	c.Tx.Set(c.Args[1], engine.Value{Kind: limits.GCRAValue, ExpiresAt: data.ExpiryNanos(ms), Data: datatype.GCRAOf(arrivalUs)})
}

func (c gcraCall) setValue() {
	if _, _, ok := c.Get(c.Args[1], limits.GCRAValue); !ok {
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
