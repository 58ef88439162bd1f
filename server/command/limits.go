package command

import (
	"fmt"
	"time"

	"github.com/stintdb/stint/engine"
)

// A kind is one way of writing a limit: the arguments that follow the key, and the algorithm they are for. Acquires,
// RL.ALL and policies all read limits through this one table.
type kind struct {
	word      string // in RL.ALL and policies; "" if the algorithm can't stand there
	algorithm engine.Algorithm
	args      int    // arguments between the key and the holder, or the end
	asks      string // what its own command calls the tokens asked for
	holder    bool
	read      func(r *Request, a [][]byte) (engine.Limit, error)
}

var kinds = []kind{
	{word: "CL", algorithm: engine.GCRA, args: 3, read: readThrottle},
	{word: "TB", algorithm: engine.TokenBucket, args: 2, asks: "tokens", read: readBucket},
	{word: "LB", algorithm: engine.LeakyBucket, args: 2, asks: "amount", read: readBucket},
	{algorithm: engine.LeakyQueue, args: 2, asks: "amount", read: readQueue},
	{word: "FW", algorithm: engine.FixedWindow, args: 2, asks: "tokens", read: readFixedWindow},
	{word: "SW", algorithm: engine.SlidingWindow, args: 2, asks: "tokens", read: readSliding},
	{word: "SL", algorithm: engine.SlidingLog, args: 2, asks: "tokens", read: readLog},
	{word: "CC", algorithm: engine.Concurrency, args: 2, holder: true, read: readLeases},
}

func kindOf(algorithm engine.Algorithm) *kind {
	for i := range kinds {
		if kinds[i].algorithm == algorithm {
			return &kinds[i]
		}
	}
	return nil
}

// ask fills op with what every way of asking a limit begins with: the key, the kind's arguments and, for a lease, its
// holder. It returns the words behind them. position is that among a command's limits.
func (r *Request) ask(op *engine.Op, k *kind, words [][]byte, position int) (rest [][]byte, err error) {
	op.Key, op.Tokens = words[0], 1
	if err = r.key(op.Key); err != nil {
		return nil, err
	}
	end := 1 + k.args
	if op.Limit, err = r.limit(k, words[1:end], position); err != nil {
		return nil, err
	}
	if k.holder {
		op.Who = words[end]
		err, end = holder(op.Who), end+1
	}
	return words[end:], err
}

// limit reads the kind's arguments and holds them to what can be kept. Most commands bring the parameters of the one
// before, in the same position among a command's limits, which are then not read again.
func (r *Request) limit(k *kind, a [][]byte, position int) (engine.Limit, error) {
	last := &r.last[position%len(r.last)]
	if last.is(k, a) {
		return last.limit, nil
	}
	l, err := r.readLimit(k, a)
	if err == nil {
		last.keep(k, a, l)
	}
	return l, err
}

// lastLimit remembers the text of a limit's parameters and what they mean.
type lastLimit struct {
	kind  *kind
	text  [48]byte // the parameters one after the other
	ends  [3]int
	limit engine.Limit
}

func (m *lastLimit) is(k *kind, a [][]byte) bool {
	if m.kind != k {
		return false
	}
	start := 0
	for i := range a {
		end := m.ends[i]
		if string(a[i]) != string(m.text[start:end]) {
			return false
		}
		start = end
	}
	return true
}

func (m *lastLimit) keep(k *kind, a [][]byte, l engine.Limit) {
	m.kind = nil
	at := 0
	for i := range a {
		n := copy(m.text[at:], a[i])
		if n < len(a[i]) {
			return // too long to be remembered
		}
		at += n
		m.ends[i] = at
	}
	m.kind, m.limit = k, l
}

func (r *Request) readLimit(k *kind, a [][]byte) (engine.Limit, error) {
	l, err := k.read(r, a)
	if err != nil {
		return l, err
	}
	l.Algorithm = k.algorithm
	if err := l.Check(); err != nil {
		return l, argumentError(l.Params()[0].Name, err.Error(), a[0])
	}
	return l, nil
}

func readThrottle(_ *Request, a [][]byte) (l engine.Limit, err error) {
	burst, err := integerBetween("max_burst", a[0], 0, engine.MaxTokens-1)
	if err != nil {
		return l, err
	}
	if l.Rate.Tokens, err = integerBetween("count", a[1], 1, engine.MaxTokens); err != nil {
		return l, err
	}
	seconds, err := integerBetween("period", a[2], 1, engine.MaxDuration/int64(time.Second))
	l.Capacity, l.Rate.Period = burst+1, seconds*int64(time.Second)
	return l, err
}

func readBucket(_ *Request, a [][]byte) (l engine.Limit, err error) {
	if l.Capacity, err = integerBetween("capacity", a[0], 1, engine.MaxTokens); err != nil {
		return l, err
	}
	l.Rate, err = rate("rate", a[1])
	return l, err
}

func readQueue(_ *Request, a [][]byte) (l engine.Limit, err error) {
	waiting, err := integerBetween("capacity", a[0], 0, engine.MaxTokens-1)
	if err != nil {
		return l, err
	}
	l.Capacity = waiting + 1 // and the one that leaves at once
	l.Rate, err = rate("rate", a[1])
	return l, err
}

func readFixedWindow(_ *Request, a [][]byte) (l engine.Limit, err error) {
	if l.Capacity, err = integerBetween("limit", a[0], 1, engine.MaxTokens); err != nil {
		return l, err
	}
	if l.Span, l.Rate.Period, err = engine.ParseWindow(string(a[1])); err != nil {
		return l, argumentError("window", err.Error(), a[1])
	}
	return l, nil
}

func readSliding(_ *Request, a [][]byte) (l engine.Limit, err error) {
	if l.Capacity, err = integerBetween("limit", a[0], 1, engine.MaxTokens); err != nil {
		return l, err
	}
	l.Rate.Period, err = duration("window", a[1])
	return l, err
}

// readLog bounds the limit further: the log keeps a time for every granted request.
func readLog(r *Request, a [][]byte) (l engine.Limit, err error) {
	most := int64(r.Bounds.MaxLogLimit)
	if n, ok := integer(a[0]); ok && n > most {
		return l, fmt.Errorf("ERR limit: a sliding log keeps a time for every request, so its limit is at most %d (--max-sliding-log), got '%s'; SW.ACQUIRE needs no log and takes more",
			most, clip(a[0], 64))
	}
	if l.Capacity, err = integerBetween("limit", a[0], 1, most); err != nil {
		return l, err
	}
	l.Rate.Period, err = duration("window", a[1])
	return l, err
}

func readLeases(_ *Request, a [][]byte) (l engine.Limit, err error) {
	if l.Capacity, err = integerBetween("limit", a[0], 1, engine.MaxHolders); err != nil {
		return l, err
	}
	l.Rate.Period, err = duration("ttl", a[1])
	return l, err
}

// holder checks the name of a lease's holder.
func holder(name []byte) error {
	if len(name) == 0 || len(name) > engine.MaxHolderBytes {
		return fmt.Errorf("ERR holder: must be 1 to %d bytes, got %d", engine.MaxHolderBytes, len(name))
	}
	return nil
}
