package command

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

var bucketRows = []Row{{
	Name: "tb.acquire", Since: "0.1.0", Group: "limiter",
	Syntax: "key capacity rate [tokens] [PEEK] [UPTO | FORCE] [MAXWAIT duration | BLOCK duration]",
	Summary: "Take tokens (default 1) from a token bucket. " +
		"Replies granted, limit, remaining, wait_ms, reset_ms.",
	Flags: Write | Fast | Blocking, Keys: oneKey, Parse: parseBucket, Reply: replyAcquire,
}}

var bucketOptions = []option{optPeek, optUpTo, optForce, optMaxWait, optBlock}

func parseBucket(r *Request) error {
	return r.acquire(engine.TokenBucket, bucketOptions)
}

// acquire reads "key capacity rate [tokens] [options]".
func (r *Request) acquire(algorithm engine.Algorithm, known []option) error {
	a := r.Args
	if err := r.key(a[1]); err != nil {
		return err
	}
	r.Ops = append(r.Ops, engine.Op{Key: a[1], Tokens: 1})
	op := &r.Ops[len(r.Ops)-1]
	op.Limit.Algorithm = algorithm
	var err error
	if op.Limit.Capacity, err = integerBetween("capacity", a[2], 1, engine.MaxTokens); err != nil {
		return err
	}
	if op.Limit.Rate, err = rate("rate", a[3]); err != nil {
		return err
	}
	if err := op.Limit.Check(); err != nil {
		return argumentError("capacity", err.Error(), a[2])
	}
	words := a[4:]
	if len(words) > 0 && looksLikeNumber(words[0]) {
		if op.Tokens, err = integerBetween("tokens", words[0], 1, engine.MaxTokens); err != nil {
			return err
		}
		words = words[1:]
	}
	return r.options(op, words, known)
}

// replyAcquire writes the five integers every acquire answers.
func replyAcquire(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	res := &results[0]
	if failed(w, &ops[0], res) {
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
