package limiter

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// limitSpecs has a row for each way to write a limit. Commands that acquire, RL.ALL and policies all parse limits by
// it.
var limitSpecs = []limitSpec{
	{word: "CL", algorithm: limits.GCRA, params: []string{"max_burst", "count", "period"}, read: readThrottle},
	{word: "TB", algorithm: limits.TokenBucket, params: []string{"capacity", "rate"}, amount: "tokens", read: readBucket},
	{word: "LB", algorithm: limits.LeakyBucket, params: []string{"capacity", "rate"}, amount: "amount", read: readBucket},
	{word: "LQ", algorithm: limits.LeakyQueue, params: []string{"capacity", "rate"}, amount: "amount", read: readQueue},
	{word: "FW", algorithm: limits.FixedWindow, params: []string{"limit", "window"}, options: " [TZ zone] [FROM beginning] [HISTORY windows] [ROLLOVER percentage]", amount: "tokens", read: readFixedWindow},
	{word: "SW", algorithm: limits.SlidingWindow, params: []string{"limit", "window"}, options: " [SEGMENTS segments]", amount: "tokens", read: countedBy("window", limits.MaxTokens)},
	{word: "SL", algorithm: limits.SlidingLog, params: []string{"limit", "window"}, amount: "tokens", read: readLog},
	{word: "CC", algorithm: limits.Concurrency, params: []string{"limit", "ttl"}, who: holderName, read: countedBy("ttl", limits.MaxHolders)},
	{word: "FS", algorithm: limits.FairShare, params: []string{"capacity", "rate"}, who: memberName, options: " [WEIGHT weight]", amount: "tokens", read: readBucket,
		noWarn: "what a member may take depends on the others, and a pool in use is nearly used up by design"},
	{word: "AD", algorithm: limits.Adaptive, params: []string{"capacity", "min", "max"}, amount: "tokens", read: readAdaptive,
		noWarn: "the limit itself moves with the reports of AD.REPORT"},
	{word: "HT", algorithm: limits.Class, params: []string{"rate_capacity", "rate", "ceil_capacity", "ceil"}, options: " UNDER key capacity rate [UNDER key capacity rate ...]", read: readCeiling, assured: readAssured,
		noWarn: "a class borrows from those above it, so its use may be near its ceiling all the time"},
	{word: "BAL", algorithm: limits.Balance, amount: "tokens", read: func(*command.Request, [][]byte) (l limits.Limit, err error) { return l, nil },
		noWarn: "a balance has no limit of which a part could be used"},
	{word: "PENALTY", algorithm: limits.Penalty, params: []string{"denials", "window", "ban"}, options: " [DOUBLING longest]", read: readPenalty,
		noWarn: "it has no tokens that could be used"},
	{word: "UNDER", algorithm: limits.Class, params: []string{"capacity", "rate"}, read: readBucket, isAncestor: true},
}

var acquireRows = []command.Row{
	acquireRow("tb.acquire", limits.TokenBucket, "key capacity rate [tokens] [PEEK] [UPTO | FORCE] [KEEP amount] [MAXWAIT duration | BLOCK duration] [AS id FOR duration] [WARN percentage] [SPREAD]", "alice:1 5 1/h",
		"Take tokens (default 1) from a token bucket.", optPeek, optUpTo, optForce, optKeep, optMaxWait, optBlock, optAs, optFor, optWarn, optSpread),
	acquireRow("lb.acquire", limits.LeakyBucket, "key capacity rate [amount] [PEEK] [UPTO | FORCE] [KEEP amount] [MAXWAIT duration | BLOCK duration] [AS id FOR duration] [WARN percentage] [SPREAD]", "alice:2 5 1/h",
		"Pour an amount (default 1) into a leaky bucket used as a meter, which decides as TB.ACQUIRE does. To smooth traffic, use LB.QUEUE.",
		optPeek, optUpTo, optForce, optKeep, optMaxWait, optBlock, optAs, optFor, optWarn, optSpread),
	acquireRow("lb.queue", limits.LeakyQueue, "key capacity rate [amount] [PEEK] [BLOCK duration] [WARN percentage] [SPREAD]", "alice:3 5 1/h",
		"Take a place in a leaky-bucket queue that releases one request every 1/rate and holds at most capacity requests. wait_ms is the time until it is this request's turn.",
		optPeek, optBlock, optWarn, optSpread),
	acquireRow("fw.acquire", limits.FixedWindow, "key limit window [tokens] [PEEK] [UPTO | FORCE] [KEEP amount] [AS id FOR duration] [TZ zone] [FROM beginning] [HISTORY windows] [ROLLOVER percentage] [WARN percentage] [SPREAD]", "alice:4 5 1h",
		"Count tokens (default 1) in a fixed window. The window is a duration such as 60s, which starts with the first request; @ and a duration, such as @60s, which is aligned to the clock; or @minute, @hour, @day, @week, @month, @quarter or @year in UTC. For @day and longer windows, TZ and FROM choose another zone and beginning. HISTORY keeps this number of closed windows for RL.USAGE. ROLLOVER adds the tokens that the previous window left unused, at most this percentage of the limit.",
		optPeek, optUpTo, optForce, optKeep, optAs, optFor, optZone, optFrom, optHistory, optRollover, optWarn, optSpread),
	acquireRow("sw.acquire", limits.SlidingWindow, "key limit window [tokens] [PEEK] [UPTO | FORCE] [KEEP amount] [AS id FOR duration] [SEGMENTS segments] [WARN percentage]", "alice:5 5 1h",
		"Count tokens (default 1) in a sliding window, estimated from two fixed windows. With SEGMENTS, it counts whole segments of the window, 2 to 120, and never exceeds the limit.",
		optPeek, optUpTo, optForce, optKeep, optAs, optFor, optSegments, optWarn),
	acquireRow("sl.acquire", limits.SlidingLog, "key limit window [tokens] [PEEK] [UPTO | FORCE] [KEEP amount] [AS id FOR duration] [WARN percentage]", "alice:6 5 1h",
		"Count tokens (default 1) in an exact sliding window, from a log of every granted request.", optPeek, optUpTo, optForce, optKeep, optAs, optFor, optWarn),
}

// acquireRow is a command of the form "key, the limit's parameters, [holder], [tokens], [options]".
func acquireRow(name string, algorithm limits.Algorithm, syntax, example, summary string, known ...command.Option) command.Row {
	spec, flags, returns := specOf(algorithm), command.Write|command.Fast|command.Decides, "[five integers](rate-limits.md#the-reply)"
	for _, o := range known {
		if o.Name == optBlock.Name {
			flags |= command.Blocking
		}
	}
	return command.Row{
		Name: name, Syntax: syntax, Group: "limiter", Summary: summary,
		Returns: returns + ".", Example: example,
		Cost: command.AcquireCost(algorithm), Flags: flags, Keys: command.ChangedKey, Reply: replyAcquire,
		Parse: func(r *command.Request) error { return appendAcquire(r, spec, known) },
	}
}

func appendAcquire(r *command.Request, k *limitSpec, known []command.Option) error {
	beginReservable(r)
	op := r.AddOp(engine.Acquire)
	words, err := readSpec(r, op, k, r.Args[1:], 0)
	if err == nil && k.amount != "" {
		words, err = tokens(op, k.amount, words)
	}
	if err != nil {
		return err
	}
	if err := r.Options(op, words, known); err != nil {
		return err
	}
	if k.algorithm == limits.Concurrency {
		return waitForPlace(r, op)
	}
	return reserveIfAsked(r)
}

// replyAcquire writes the five integers that all commands that acquire reply with, and a sixth with WARN.
func replyAcquire(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	res := &results[0]
	if command.WriteFailure(w, res) {
		return
	}
	if percent := ops[0].Request().Limit.Warn; percent != 0 {
		w.Integers(res.Granted, res.Limit, res.Remaining, command.Millis(res.Wait), command.Millis(res.Reset), warnField(res, percent))
		return
	}
	w.Integers(res.Granted, res.Limit, res.Remaining, command.Millis(res.Wait), command.Millis(res.Reset))
}

func readThrottle(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
	burst, err := command.ParseIntegerBetween("max_burst", a[0], 0, limits.MaxTokens-1)
	if err != nil {
		return l, err
	}
	if l.Rate.Tokens, err = command.ParseIntegerBetween("count", a[1], 1, limits.MaxTokens); err != nil {
		return l, err
	}
	seconds, err := command.ParseIntegerBetween("period", a[2], 1, limits.MaxDuration/int64(time.Second))
	l.Capacity, l.Rate.Period = burst+1, seconds*int64(time.Second)
	return l, err
}

// bucketNamed makes a function that parses a capacity and a rate, the arguments at and at+1, under these names.
func bucketNamed(capacity, tokensPerTime string, at int) func(*command.Request, [][]byte) (limits.Limit, error) {
	return func(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
		if l.Capacity, err = command.ParseIntegerBetween(capacity, a[at], 1, limits.MaxTokens); err != nil {
			return l, err
		}
		l.Rate, err = command.ParseRate(tokensPerTime, a[at+1])
		return l, err
	}
}

var readBucket = bucketNamed("capacity", "rate", 0)

func readQueue(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
	waiting, err := command.ParseIntegerBetween("capacity", a[0], 0, limits.MaxTokens-1)
	if err != nil {
		return l, err
	}
	l.Capacity = waiting + 1 // one request leaves at once
	l.Rate, err = command.ParseRate("rate", a[1])
	return l, err
}

func readFixedWindow(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
	if l.Capacity, err = command.ParseIntegerBetween("limit", a[0], 1, limits.MaxTokens); err != nil {
		return l, err
	}
	if l.Span, l.Rate.Period, err = limits.ParseWindow(string(a[1])); err != nil {
		return l, command.ArgumentError("window", err.Error(), a[1])
	}
	return l, nil
}

// countedBy makes a function that parses a limit of at most most, and the duration for which each token counts, an
// argument named span.
func countedBy(span string, most int64) func(*command.Request, [][]byte) (limits.Limit, error) {
	return func(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
		if l.Capacity, err = command.ParseIntegerBetween("limit", a[0], 1, most); err != nil {
			return l, err
		}
		l.Rate.Period, err = command.ParseDuration(span, a[1])
		return l, err
	}
}

// readLog has a lower maximum for the limit, because the log keeps the time of every granted request.
func readLog(r *command.Request, a [][]byte) (l limits.Limit, err error) {
	most := int64(r.Bounds.MaxLogLimit)
	if n, ok := command.ParseInteger(a[0]); ok && n > most {
		return l, errLogLimit.With(most, command.Truncate(a[0], 64))
	}
	return countedBy("window", most)(r, a)
}

// readAdaptive parses the capacity and both rates, and gives the rates one period.
func readAdaptive(_ *command.Request, a [][]byte) (l limits.Limit, err error) {
	if l.Capacity, err = command.ParseIntegerBetween("capacity", a[0], 1, limits.MaxTokens); err != nil {
		return l, err
	}
	least, err := command.ParseRate("min", a[1])
	if err != nil {
		return l, err
	}
	if l.Rate, err = command.ParseRate("max", a[2]); err != nil {
		return l, err
	}
	if l.Least, l.Rate, err = limits.WithOnePeriod(least, l.Rate); err != nil {
		return l, command.ArgumentError("min", err.Error(), a[1])
	}
	return l, nil
}

// A class is represented by the limit of its ceiling, together with its assured rate. The limits of its ancestors
// follow.
var readAssured, readCeiling = bucketNamed("rate_capacity", "rate", 0), bucketNamed("ceil_capacity", "ceil", 2)
