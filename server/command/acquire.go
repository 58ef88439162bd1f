package command

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

const fiveIntegers = " Replies granted, limit, remaining, wait_ms, reset_ms."

var acquireRows = []Row{
	acquireRow("tb.acquire", engine.TokenBucket, "key capacity rate [tokens] [PEEK] [UPTO | FORCE] [MAXWAIT duration | BLOCK duration]",
		"Take tokens (default 1) from a token bucket.", optPeek, optUpTo, optForce, optMaxWait, optBlock),
	acquireRow("lb.acquire", engine.LeakyBucket, "key capacity rate [amount] [PEEK] [UPTO | FORCE] [MAXWAIT duration | BLOCK duration]",
		"Pour an amount (default 1) into a leaky bucket used as a meter. It decides exactly as TB.ACQUIRE does and smooths nothing: LB.QUEUE does.",
		optPeek, optUpTo, optForce, optMaxWait, optBlock),
	acquireRow("lb.queue", engine.LeakyQueue, "key capacity rate [amount] [PEEK] [BLOCK duration]",
		"Take a place in a queue that lets one request out every 1/rate; at most capacity may be waiting. wait_ms says when it is this one's turn.",
		optPeek, optBlock),
	acquireRow("fw.acquire", engine.FixedWindow, "key limit window [tokens] [PEEK] [UPTO | FORCE]",
		"Count tokens (default 1) in a fixed window: a duration from the first request on, @duration aligned to the clock, or @minute, @hour, @day, @week, @month in UTC.",
		optPeek, optUpTo, optForce),
	acquireRow("sw.acquire", engine.SlidingWindow, "key limit window [tokens] [PEEK] [UPTO | FORCE]",
		"Count tokens (default 1) in a sliding window, estimated from two fixed ones.", optPeek, optUpTo, optForce),
	acquireRow("sl.acquire", engine.SlidingLog, "key limit window [tokens] [PEEK] [UPTO | FORCE]",
		"Count tokens (default 1) in an exact sliding window, from a log of every granted request.", optPeek, optUpTo, optForce),
}

// acquireRow is a command of the form "key, the kind's arguments, [holder], [tokens], [options]".
func acquireRow(name string, algorithm engine.Algorithm, syntax, summary string, known ...option) Row {
	k, flags := kindOf(algorithm), Write|Fast|Decides
	for _, o := range known {
		if o.name == optBlock.name {
			flags |= Blocking
		}
	}
	return Row{
		Name: name, Syntax: syntax, Since: "0.1.0", Group: "limiter", Summary: summary + fiveIntegers,
		Flags: flags, Keys: oneKey, Reply: replyAcquire,
		Parse: func(r *Request) error { return r.acquire(k, known) },
	}
}

func (r *Request) acquire(k *kind, known []option) error {
	r.Ops = append(r.Ops, engine.Op{})
	op := &r.Ops[len(r.Ops)-1]
	words, err := r.ask(op, k, r.Args[1:], 0)
	if err == nil && k.asks != "" {
		words, err = tokens(op, k.asks, words)
	}
	if err != nil {
		return err
	}
	return r.options(op, words, known)
}

// replyAcquire writes the five integers every acquire answers.
func replyAcquire(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	res := &results[0]
	if failed(w, res) {
		return
	}
	w.Array(5)
	w.Int(res.Granted)
	w.Int(res.Limit)
	w.Int(res.Remaining)
	w.Int(millis(res.Wait))
	w.Int(millis(res.Reset))
}

// millis rounds nanoseconds up, so that a client that waits this long is not denied again for being early.
func millis(nanos int64) int64 {
	if nanos < 0 {
		return nanos
	}
	ms := nanos / int64(time.Millisecond)
	if nanos%int64(time.Millisecond) > 0 {
		ms++
	}
	return ms
}
