package store

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
)

const (
	sec = int64(time.Second)
	ms  = int64(time.Millisecond)
)

// ask applies one operation to a store and returns its result.
func ask(s *Store, now int64, op engine.Op) engine.Result {
	call := asks.Get().(*oneCall)
	defer asks.Put(call)
	call.ops[0], call.results[0] = op, engine.Result{}
	s.Apply(now, call.ops[:], call.results[:])
	return call.results[0]
}

// asks has room for the calls of ask, of which there are millions.
var asks = sync.Pool{New: func() any { return new(oneCall) }}

type oneCall struct {
	ops     [1]engine.Op
	results [1]engine.Result
}

func bucket(capacity, tokens, period int64) limits.Limit {
	return limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: tokens, Period: period}}
}

// meterSteps go through a bucket of 5 tokens, one every 2 s, in order.
var meterSteps = []struct {
	name   string
	at     int64
	tokens int64
	opts   engine.Option
	wait   int64
	limit  limits.Limit

	allowed                         bool
	granted, remaining, retry, full int64
}{
	{"fresh", 0, 1, 0, 0, bucket(5, 1, 2*sec), true, 1, 4, 0, 2 * sec},
	{"partly used", 0, 3, 0, 0, bucket(5, 1, 2*sec), true, 3, 1, 0, 8 * sec},
	{"more than there is", 0, 2, 0, 0, bucket(5, 1, 2*sec), false, 0, 1, 2 * sec, 8 * sec},
	{"more than the limit", 0, 6, 0, 0, bucket(5, 1, 2*sec), false, 0, 1, engine.NeverWait, 8 * sec},
	{"as many as there are", 0, 4, engine.UpTo, 0, bucket(5, 1, 2*sec), true, 1, 0, 0, 10 * sec},
	{"exhausted", 0, 1, 0, 0, bucket(5, 1, 2*sec), false, 0, 0, 2 * sec, 10 * sec},
	{"none to grant", 0, 4, engine.UpTo, 0, bucket(5, 1, 2*sec), false, 0, 0, 2 * sec, 10 * sec},
	{"one ns before", 2*sec - 1, 1, 0, 0, bucket(5, 1, 2*sec), false, 0, 0, 1, 8*sec + 1},
	{"asked as if at the boundary", 2 * sec, 1, engine.Peek, 0, bucket(5, 1, 2*sec), true, 1, 0, 0, 10 * sec},
	{"exactly at the boundary", 2 * sec, 1, 0, 0, bucket(5, 1, 2*sec), true, 1, 0, 0, 10 * sec},
	{"one ns after", 4*sec + 1, 1, 0, 0, bucket(5, 1, 2*sec), true, 1, 0, 0, 10*sec - 1},
	{"an earlier time counts as the latest", 3 * sec, 1, 0, 0, bucket(5, 1, 2*sec), false, 0, 0, 2*sec - 1, 10*sec - 1},
	{"reserved", 4*sec + 1, 1, 0, 3 * sec, bucket(5, 1, 2*sec), true, 1, 0, 2*sec - 1, 12*sec - 1},
	{"reservations have a bound", 4*sec + 1, 1, 0, 3 * sec, bucket(5, 1, 2*sec), false, 0, 0, sec - 1, 12*sec - 1},
	{"forced into debt", 4*sec + 1, 3, engine.Force, 0, bucket(5, 1, 2*sec), true, 3, -4, 0, 18*sec - 1},
	{"in debt", 4*sec + 1, 1, 0, 0, bucket(5, 1, 2*sec), false, 0, 0, 10*sec - 1, 18*sec - 1},
	{"rate doubled: the tokens taken stay", 4*sec + 1, 1, 0, 0, bucket(5, 1, sec), false, 0, 0, 5 * sec, 9 * sec},
	{"capacity raised", 4*sec + 1, 1, 0, 0, bucket(20, 1, sec), true, 1, 10, 0, 10 * sec},
	{"capacity lowered", 4*sec + 1, 1, 0, 0, bucket(3, 1, sec), false, 0, 0, 8 * sec, 10 * sec},
	{"full again", 20 * sec, 1, 0, 0, bucket(3, 1, sec), true, 1, 2, 0, sec},
}

func TestMeterSteps(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	for _, step := range meterSteps {
		got := ask(s, epoch+step.at, engine.Op{Key: []byte("k"), Limit: step.limit, Tokens: step.tokens, Options: step.opts, MaxWait: step.wait})
		want := engine.Result{Allowed: step.allowed, Granted: step.granted, Limit: step.limit.Capacity,
			Remaining: step.remaining, Wait: step.retry, Reset: step.full}
		if !same(got, want) {
			t.Fatalf("%s:\ngot  %+v\nwant %+v", step.name, got, want)
		}
	}
}

// A rate that divides no nanosecond evenly must not drift: after a million tokens the bucket is full again exactly
// when the exact fraction says.
func TestMeterDoesNotDrift(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(1_000_000, 7, 3*sec)
	for range 1_000_000 {
		if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1}); !res.Allowed {
			t.Fatal("denied within the capacity")
		}
	}
	want := (1_000_000*3*sec + 6) / 7
	if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Reset != want {
		t.Errorf("full again after %d ns, want %d", res.Reset, want)
	}
	if res := ask(s, epoch+want-1, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Status != engine.OK {
		t.Error("dropped while it still held information")
	}
	if res := ask(s, epoch+want, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Status != engine.NotFound {
		t.Error("kept after it was as good as new")
	}
}

// Over any span a bucket grants at most its capacity and the refill of that span, for any traffic.
func TestMeterNeverGrantsMoreInAnySpan(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(10, 3, 7*ms)
	type grant struct{ at, tokens int64 }
	var grants []grant
	for i, now := 0, epoch; i < 3000; i++ {
		now += []int64{0, 1, ms, 7 * ms / 3, 7*ms/3 + 1, 20 * ms}[i*i%6]
		res := ask(s, now, engine.Op{Key: []byte("k"), Limit: limit, Tokens: int64(1 + i%4), Options: engine.UpTo})
		if res.Granted > 0 {
			grants = append(grants, grant{now, res.Granted})
		}
	}
	for i := range grants {
		sum := int64(0)
		for _, g := range grants[i:] {
			sum += g.tokens
			// sum <= L + N·s/P, multiplied out
			if span := g.at - grants[i].at; (sum-limit.Capacity)*limit.Rate.Period > limit.Rate.Tokens*span {
				t.Fatalf("%d tokens in %d ns", sum, span)
			}
		}
	}
}

func TestRefundGivesBackWhatWasTaken(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(5, 1, 2*sec)
	key := []byte("k")
	ask(s, epoch, engine.Op{Key: key, Limit: limit, Tokens: 4})
	steps := []struct {
		at, tokens, remaining, reset int64
		status                       engine.Status
	}{
		{0, 1, 2, 6 * sec, engine.OK},
		{sec, 1, 3, 3 * sec, engine.OK}, // 2.5 were taken: 3.5 are there
		{sec, 100, 5, 0, engine.OK},
		{sec, 1, 0, 0, engine.NotFound},
	}
	for i, step := range steps {
		res := ask(s, epoch+step.at, engine.Op{Verb: engine.Refund, Key: key, Tokens: step.tokens})
		if res.Status != step.status || res.Remaining != step.remaining || res.Reset != step.reset {
			t.Errorf("refund %d: %+v", i, res)
		}
	}
	if n := s.Len(); n != 0 {
		t.Errorf("%d keys left after everything was given back", n)
	}
}

func TestForceHasAFloor(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(1, limits.MaxTokens, ms)
	op := engine.Op{Key: []byte("k"), Limit: limit, Tokens: limits.MaxTokens, Options: engine.Force}
	if res := ask(s, epoch, op); res.Status != engine.OK || res.Remaining != 1-limits.MaxTokens {
		t.Fatalf("first: %+v", res)
	}
	if res := ask(s, epoch, op); res.Status != engine.DebtTooBig {
		t.Fatalf("twice the most: %+v", res)
	}
	op.Limit, op.Key = bucket(1, 1, limits.MaxDuration), []byte("slow")
	if res := ask(s, epoch, op); res.Status != engine.DebtTooBig {
		t.Fatalf("ten billion years: %+v", res)
	}
}

func TestLimitCheck(t *testing.T) {
	for _, c := range []struct {
		limit limits.Limit
		ok    bool
	}{
		{bucket(10, 1, limits.MaxDuration), true},
		{bucket(11, 1, limits.MaxDuration), false},
		{bucket(limits.MaxTokens, limits.MaxTokens, limits.MaxDuration), true},
		{bucket(limits.MaxTokens, 1, sec), false},
		{bucket(1, limits.MaxTokens, ms), true},
	} {
		if err := c.limit.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.limit, err)
		}
	}
}

// An error names the parameter that is out of its bounds.
func TestLimitErrorNamesParameter(t *testing.T) {
	rate := limits.Rate{Tokens: 1, Period: sec}
	for _, tc := range []struct {
		limit limits.Limit
		field string
	}{
		{limits.Limit{Capacity: 1, Rate: rate}, "algorithm"},
		{limits.Limit{Algorithm: 99, Capacity: 1, Rate: rate}, "algorithm"},
		{limits.Limit{Algorithm: limits.TokenBucket, Rate: rate}, "capacity"},
		{limits.Limit{Algorithm: limits.SlidingLog, Capacity: limits.MaxLogLimit + 1, Rate: limits.Rate{Period: sec}}, "capacity"},
		{limits.Limit{Algorithm: limits.Concurrency, Capacity: limits.MaxHolders + 1, Rate: limits.Rate{Period: sec}}, "capacity"},
		{limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1, Rate: limits.Rate{Period: sec}}, "tokens of the rate"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Rate: rate}, "tokens of the rate"},
		{limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: limits.MaxTokens + 1, Period: 1000 * sec}}, "tokens of the rate"},
		{limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 1, Span: limits.Aligned, Rate: limits.Rate{Period: sec}}, "position of the windows"},
		{limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 1}, "period"},
		{limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1, Rate: limits.Rate{Tokens: 1}}, "period"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Rate: limits.Rate{Period: limits.MaxDuration + 1}}, "period"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: limits.EachMonth, Rate: limits.Rate{Period: sec}}, "period"},
		{bucket(1, 1, 2*limits.MaxDuration), "period"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: limits.EachYear + 1}, "position of the windows"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: limits.EachHour, Anchor: calendar.Anchor{Zone: 1}}, "position of the windows"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: limits.EachDay, Anchor: calendar.Anchor{Zone: math.MaxUint16}}, "position of the windows"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: limits.EachDay, Anchor: calendar.Anchor{From: 24}}, "position of the windows"},
		{limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: limits.EachMonth, Anchor: calendar.Anchor{From: 1}}, "position of the windows"},
		{limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 1, Rate: limits.Rate{Period: sec}, Anchor: calendar.Anchor{Zone: 1}}, "position of the windows"},
		{limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 1, Rate: limits.Rate{Period: sec}, Warn: 101}, "threshold of warnings"},
		{limits.Limit{Algorithm: limits.FairShare, Capacity: 1, Rate: limits.Rate{Tokens: 1, Period: sec}, Warn: 1}, "threshold of warnings"},
	} {
		if err := tc.limit.Check(); !errors.Is(err, limits.ErrLimit) || !strings.Contains(err.Error(), ": the "+tc.field+", of algorithm ") {
			t.Errorf("%+v: %v, want one that names the %s", tc.limit, err, tc.field)
		}
	}
}
