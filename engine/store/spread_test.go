package store

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Callers that one bucket denies at the same time are told to come back one after the other, and a PEEK among them is
// told what it was told without SPREAD.
func TestSpread(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	op := engine.Op{Key: []byte("k"), Limit: bucket(1, 1, sec), Tokens: 1, Options: engine.Spread}
	ask(s, epoch, op)
	peek, upTo, usual := op, op, op
	peek.Options |= engine.Peek
	upTo.Options, upTo.Tokens = upTo.Options|engine.UpTo, 9
	usual.Options = 0
	all := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{{Key: []byte("other"), Limit: bucket(1, 1, sec), Tokens: 1, Options: engine.Spread}, op}}
	for i, c := range []struct {
		op   engine.Op
		wait int64
	}{{op, 1}, {op, 2}, {peek, 1}, {usual, 1}, {all, 3}, {upTo, 4}, {op, 5}} {
		if res := ask(s, epoch, c.op); res.Allowed || res.Wait != c.wait*sec {
			t.Errorf("request %d: %+v, want a wait of %d s", i, res, c.wait)
		}
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("other"), Limit: bucket(1, 1, sec), Tokens: 1}); !res.Allowed {
		t.Errorf("the other limit of a denied request: %+v", res)
	}
	for i := range int64(5) {
		now := epoch + (i+1)*sec
		if res := ask(s, now, op); !res.Allowed {
			t.Errorf("second request of caller %d: %+v", i, res)
		}
	}
}

// A bucket in debt whose rate was lowered promises no time: it would be later than any.
func TestSpreadOfALargeDebt(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	op := engine.Op{Key: []byte("k"), Limit: bucket(1, 1, 3600*sec), Tokens: 1, Options: engine.Spread}
	for range 2 {
		ask(s, epoch, op)
	}
	ask(s, epoch, engine.Op{Key: op.Key, Limit: bucket(1, limits.MaxTokens, sec), Tokens: limits.MaxTokens, Options: engine.Force})
	if res := ask(s, epoch, op); res.Allowed || res.Wait != math.MaxInt64 {
		t.Errorf("%+v", res)
	}
}

// A request that ends in an error promises no turn, wherever the limit stands that has the error.
func TestSpreadPromisesNothingInAnError(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	op := engine.Op{Key: []byte("k"), Limit: bucket(1, 1, sec), Tokens: 1, Options: engine.Spread}
	window := limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Rate: limits.Rate{Period: sec}}
	other := engine.Op{Key: []byte("other"), Limit: window, Tokens: 1}
	ask(s, epoch, op)
	ask(s, epoch, other)
	other.Limit = bucket(1, 1, sec)
	for _, parts := range [][]engine.Op{
		{op, other},
		{other, op},
		append([]engine.Op{op}, treeOp(1, bucket(1, 1, sec), []string{"class", "other"}, bucketOf(limits.Class, 1, 1, sec), bucketOf(limits.Class, 1, 1, sec)).Parts...),
	} {
		whole := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: parts}
		var res engine.Result
		if done := s.TryReadOnly(epoch, &whole, &res); !done || res.Status != engine.WrongType {
			t.Errorf("%+v: %+v, want an error", parts, res)
		}
		if res := ask(s, epoch, whole); res.Status != engine.WrongType {
			t.Errorf("%+v: %+v, want an error", parts, res)
		}
	}
	if res := ask(s, epoch, op); res.Wait != sec {
		t.Errorf("the first promise: %+v, want a wait of 1 s", res)
	}
}

// The longest wait binds a request after turns were promised, of two equal ones the first.
func TestSpreadBinds(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	op := engine.Op{Key: []byte("k"), Limit: bucket(1, 1, sec), Tokens: 1, Options: engine.Spread}
	slow := engine.Op{Key: []byte("slow"), Limit: bucket(1, 1, 2*sec), Tokens: 1}
	ask(s, epoch, op)
	ask(s, epoch, slow)
	all := engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{op, slow}}
	for i, want := range []struct {
		binding int
		wait    int64
	}{{1, 2}, {0, 2}, {0, 3}} {
		if res := ask(s, epoch, all); res.Allowed || res.Binding != want.binding || res.Wait != want.wait*sec {
			t.Errorf("request %d: %+v, want %+v", i, res, want)
		}
	}
}

// A check asks a policy's limit with SPREAD, and a full bucket is asked without.
func TestSpreadOfAPolicy(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("k:{}"), Limit: bucket(2, 1, sec), Options: engine.Spread}}})
	check := engine.Op{Verb: engine.Check, Key: []byte("p"), Who: []byte("me"), Tokens: 1}
	for i, wait := range []int64{0, 0, 1, 2, 3} {
		if res := ask(s, epoch, check); res.Wait != wait*sec || res.Allowed != (wait == 0) {
			t.Errorf("check %d: %+v, want a wait of %d s", i, res, wait)
		}
	}
}

// A promise is at most a minute later than the wait without it, or the time in which the limit is full again if that is
// longer. All further callers are told the last turn.
func TestSpreadIsBounded(t *testing.T) {
	for _, c := range []struct {
		limit limits.Limit
		turns int
	}{
		{bucket(1, 1, sec), 61},
		{bucket(100, 1, sec), 101},
		{limits.Limit{Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 2, Rate: limits.Rate{Period: 90 * sec}}, 2},
		{limits.Limit{Algorithm: limits.FixedWindow, Span: limits.EachMonth, Capacity: 2}, 2},
	} {
		s := New(Config{Shards: 1})
		op := engine.Op{Key: []byte("k"), Limit: c.limit, Tokens: c.limit.Capacity}
		ask(s, epoch, op)
		op.Tokens, op.Options = 1, engine.Spread
		waits, first, last := map[int64]bool{}, int64(0), int64(0)
		for i := range 300 {
			wait := ask(s, epoch, op).Wait
			if i == 0 {
				first = wait
			}
			if wait < last {
				t.Fatalf("%+v: a wait of %d after one of %d", c.limit, wait, last)
			}
			waits[wait], last = true, wait
		}
		if len(waits) != c.turns {
			t.Errorf("%+v: %d turns, the last %d after the first, want %d", c.limit, len(waits), last-first, c.turns)
		}
		s.Close()
	}
}

// turn is a caller that was told to come back at a time.
type turn struct{ at, tokens int64 }

// spreadModel tells turns by a simulation of all turns before.
type spreadModel interface {
	take(now, tokens int64)
	next(now, tokens int64, before []turn) (at int64)
}

// modelBucket has its tokens in parts of Rate.Period.
type modelBucket struct {
	limit       limits.Limit
	level, last int64
}

func (m *modelBucket) take(now, tokens int64) {
	m.level = min(m.limit.Capacity*m.limit.Rate.Period, m.level+(now-m.last)*m.limit.Rate.Tokens) - tokens*m.limit.Rate.Period
	m.last = now
}

func (m *modelBucket) next(now, tokens int64, before []turn) (at int64) {
	x := *m
	x.take(now, 0)
	for _, b := range before {
		x.take(b.at, b.tokens)
	}
	missing := max(0, tokens*x.limit.Rate.Period-x.level)
	return x.last + (missing+x.limit.Rate.Tokens-1)/x.limit.Rate.Tokens
}

// modelWindow counts in windows, from the first request on or by the clock.
type modelWindow struct {
	limit       limits.Limit
	begin, used int64
}

func (m *modelWindow) take(now, tokens int64) {
	if period := m.limit.Rate.Period; now >= m.begin+period {
		m.used, m.begin = 0, now
		if m.limit.Span == limits.Aligned {
			m.begin -= now % period
		}
	}
	m.used += tokens
}

func (m *modelWindow) next(_, tokens int64, before []turn) (at int64) {
	x := *m
	at = x.begin + x.limit.Rate.Period
	for _, b := range before {
		x.take(b.at, b.tokens)
		at = b.at
	}
	if x.begin != at { // nobody comes in it yet
		return at
	}
	if x.used+tokens > x.limit.Capacity {
		at += x.limit.Rate.Period
	}
	return at
}

// Each denied caller is told the first time at which its tokens are there, if all who were denied before come back when
// they were told. They all do, and none is denied again.
func TestSpreadEqualsASimulationOfAllTurns(t *testing.T) {
	denied := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 65))
		limit := limits.Limit{Algorithm: []limits.Algorithm{limits.TokenBucket, limits.GCRA, limits.LeakyBucket, limits.FixedWindow}[seed%4], Capacity: 1 + r.Int64N(6)}
		var model spreadModel
		if limit.Algorithm == limits.FixedWindow {
			limit.Rate.Period, limit.Span = 1_000_000+r.Int64N(1000), limits.Span(r.IntN(2))
			model = &modelWindow{limit: limit}
		} else {
			limit.Rate = limits.Rate{Tokens: 1 + r.Int64N(500), Period: 1_000_000 + r.Int64N(1000)}
			model = &modelBucket{limit: limit, level: limit.Capacity * limit.Rate.Period, last: epoch}
		}
		s := New(Config{Shards: 1})
		op := engine.Op{Key: []byte("k"), Limit: limit, Options: engine.Spread}
		var turns []turn
		now := epoch
		for range 500 {
			next := now + r.Int64N(1_000_000)
			for len(turns) > 0 && turns[0].at <= next {
				op.Tokens = turns[0].tokens
				if res := ask(s, turns[0].at, op); !res.Allowed {
					t.Fatalf("seed %d: %v denies a caller again at its turn: %+v", seed, limit, res)
				}
				model.take(turns[0].at, op.Tokens)
				turns = turns[1:]
			}
			now, op.Tokens = next, 1+r.Int64N(min(3, limit.Capacity))
			peek := op
			peek.Options |= engine.Peek
			before := ask(s, now, peek)
			if before.Allowed && len(turns) > 0 { // it would take what is promised
				continue
			}
			res := ask(s, now, op)
			if res.Allowed {
				model.take(now, op.Tokens)
				continue
			}
			at := now + res.Wait
			if want := model.next(now, op.Tokens, turns); at < want || at > want+1 || res.Wait < before.Wait { // times of turns are rounded up
				t.Fatalf("seed %d: %v promises %d to %d tokens after %d turns, want %d", seed, limit, at, op.Tokens, len(turns), want)
			}
			turns, denied = append(turns, turn{at, op.Tokens}), denied+1
		}
		s.Close()
	}
	if denied < 5000 {
		t.Errorf("only %d were denied", denied)
	}
}
