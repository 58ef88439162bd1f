package store

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

func adaptiveLimit(capacity, least, most int64) limits.Limit {
	return limits.Limit{Algorithm: limits.Adaptive, Capacity: capacity, Least: least, Rate: limits.Rate{Tokens: most, Period: sec}}
}

func usualReport(good, bad int64) *engine.Report {
	return &engine.Report{Good: good, Bad: bad, Every: sec, Down: 80_000, Up: 5_000}
}

func tell(s *Store, now int64, key string, r *engine.Report) string {
	res := ask(s, now, engine.Op{Verb: engine.Adapt, Key: []byte(key), Report: r})
	return string(res.Reply)
}

// Without reports, it decides as a token bucket of its highest rate; with min equal to max also with reports.
func TestAdaptiveEqualsABucketOfItsRate(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := New(Config{Shards: 2})
		now := epoch
		for range 2000 {
			now += r.Int64N(sec / 5)
			tokens := []int64{1, 2, 7, 40, 0}[r.IntN(5)]
			var wait int64
			if r.IntN(4) == 0 {
				wait = r.Int64N(3 * sec)
			}
			limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 20 + r.Int64N(2)*10, Rate: limits.Rate{Tokens: 7 + int64(seed), Period: 3 * sec}}
			options := []engine.Option{0, engine.Peek, engine.UpTo}[r.IntN(3)]
			want := ask(s, now, engine.Op{Key: []byte("b"), Limit: limit, Tokens: tokens, MaxWait: wait, Options: options})
			limit.Algorithm, limit.Least = limits.Adaptive, limit.Rate.Tokens
			got := ask(s, now, engine.Op{Key: []byte("a"), Limit: limit, Tokens: tokens, MaxWait: wait, Options: options})
			if got.Allowed != want.Allowed || got.Granted != want.Granted || got.Remaining != want.Remaining || got.Wait != want.Wait || got.Reset != want.Reset {
				t.Fatalf("seed %d: %+v, a bucket %+v", seed, got, want)
			}
			if r.IntN(5) == 0 {
				tell(s, now, "a", usualReport(r.Int64N(3), r.Int64N(2)))
			}
			if r.IntN(9) == 0 {
				ask(s, now, engine.Op{Verb: engine.Refund, Key: []byte("a"), Tokens: 3})
				ask(s, now, engine.Op{Verb: engine.Refund, Key: []byte("b"), Tokens: 3})
			}
		}
		s.Close()
	}
}

// backend is one that answers with errors beyond its capacity, and fleets that ask as often as they are allowed.
type backend struct {
	s        *Store
	now      int64
	capacity int64 // calls a second
	limit    limits.Limit
	keys     []string
}

// second lets the fleets work for a second, and report ten times.
func (b *backend) second(demand int64) (rates []string) {
	const parts = 10
	left := b.capacity
	for range parts {
		b.now += sec / parts
		calls := map[string]int64{}
		for range demand / parts {
			for _, key := range b.keys {
				if ask(b.s, b.now, engine.Op{Key: []byte(key), Limit: b.limit, Tokens: 1}).Allowed {
					calls[key]++
				}
			}
		}
		total := int64(0)
		for _, key := range b.keys {
			total += calls[key]
		}
		served := min(total, left)
		left -= served
		for _, key := range b.keys {
			good := calls[key] * served / max(1, total)
			tell(b.s, b.now, key, usualReport(good, calls[key]-good))
		}
	}
	for _, key := range b.keys {
		rates = append(rates, tell(b.s, b.now, key, usualReport(0, 0)))
	}
	return rates
}

func (b *backend) rate(key string) float64 {
	a := &algorithm.Call{}
	sh, tag := b.s.keys.Locate([]byte(key))
	op, res := engine.Op{Verb: engine.Look, Key: []byte(key)}, engine.Result{}
	sh.Load(a, b.now, &op, &res, sh.Find(tag, op.Key))
	state := a.Adaptive(&a.Prev)
	r := state.PresentRate(&a.Prev)
	return float64(r.Tokens) / float64(r.Period) * float64(sec)
}

func newBackend(capacity int64, keys ...string) *backend {
	return &backend{s: New(Config{Shards: 2}), now: epoch, capacity: capacity, limit: adaptiveLimit(200, 10, 1000), keys: keys}
}

func TestAdaptiveFollowsTheBackend(t *testing.T) {
	b := newBackend(500, "k")
	defer b.s.Close()
	const step = 50 // UP of max, a second
	for range 40 {
		b.second(2000)
	}
	for range 20 {
		if b.second(2000); b.rate("k") > 500+step+10 || b.rate("k") < 0.8*500-step-1 {
			t.Errorf("a rate of %v for a backend of 500", b.rate("k"))
		}
	}
	b.capacity = 250
	windows := 0
	for ; b.rate("k") > 250+step; windows++ {
		b.second(2000)
	}
	if windows > 4 {
		t.Errorf("%d windows until half of the capacity was followed", windows)
	}
}

func TestAdaptiveDoesNotGrowWhileIdle(t *testing.T) {
	b := newBackend(500, "k")
	defer b.s.Close()
	for range 10 {
		b.second(2000)
	}
	b.second(100) // which ends the window of the last errors
	b.second(100)
	before := b.rate("k")
	for range 30 {
		b.second(100) // less than half of the rate
	}
	if b.rate("k") != before {
		t.Errorf("%v became %v", before, b.rate("k"))
	}
	b.now += algorithm.AdaptiveIdle
	if got := tell(b.s, b.now, "k", usualReport(1, 0)); got != "" {
		t.Errorf("after ten idle minutes it still knows the rate %s", got)
	}
}

// Two fleets with separate limits come to equal parts of one backend.
func TestAdaptiveFleetsConverge(t *testing.T) {
	b := newBackend(400, "one", "two")
	defer b.s.Close()
	b.keys = b.keys[:1]
	for range 20 {
		b.second(2000)
	}
	b.keys = []string{"one", "two"}
	for range 120 {
		b.second(2000)
	}
	var sums [2]float64
	for range 40 {
		b.second(2000)
		sums[0] += b.rate("one")
		sums[1] += b.rate("two")
	}
	if ratio := sums[0] / sums[1]; ratio < 0.85 || ratio > 1.18 {
		t.Errorf("the rates are as %v", ratio)
	}
}

// With a third of the reports lost, and a third doubled, the rate stays near the capacity. A bad report that comes
// twice, and one of long ago, cut it once, or not at all.
func TestAdaptiveReportsMayBeLostOrDoubled(t *testing.T) {
	b := newBackend(500, "k")
	defer b.s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		for part := range 10 {
			b.now += sec / 10
			granted := int64(0)
			for range 200 {
				if ask(b.s, b.now, engine.Op{Key: []byte("k"), Limit: b.limit, Tokens: 1}).Allowed {
					granted++
				}
			}
			for range r.IntN(3) {
				tell(b.s, b.now, "k", usualReport(min(granted, 50), max(0, granted-50)))
			}
			if i > 40 && part == 9 && (b.rate("k") > 600 || b.rate("k") < 300) {
				t.Fatalf("a rate of %v for a backend of 500", b.rate("k"))
			}
		}
	}
}

func TestAdaptiveOldAndDoubledReports(t *testing.T) {
	b := newBackend(500, "k")
	defer b.s.Close()
	ask(b.s, b.now, engine.Op{Key: []byte("k"), Limit: b.limit, Tokens: 1})
	for i, step := range []struct {
		after     int64
		good, bad int64
		rate      float64
	}{
		{sec, 0, 1, 800}, {sec / 100, 0, 1, 800}, {sec, 1, 0, 800}, {sec / 2, 0, 1, 800}, {sec / 2, 1, 0, 640},
		{sec / 2, 0, 1, 640}, {300 * sec, 1, 0, 640},
	} {
		b.now += step.after
		if tell(b.s, b.now, "k", usualReport(step.good, step.bad)); b.rate("k") != step.rate {
			t.Errorf("report %d: a rate of %v, want %v", i, b.rate("k"), step.rate)
		}
	}
}

func TestAdaptivePause(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := adaptiveLimit(10, 1, 10)
	op := engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1}
	ask(s, epoch, op)
	paused := &engine.Report{Every: sec, Down: 1, Up: 1, Pause: 20 * sec}
	ask(s, epoch, engine.Op{Verb: engine.Adapt, Key: op.Key, Report: paused})
	for _, options := range []engine.Option{0, engine.UpTo, engine.Force} {
		op.Options = options
		if res := ask(s, epoch+5*sec, op); res.Allowed || res.Granted != 0 || res.Wait != 15*sec || res.Remaining != 10 {
			t.Errorf("option %d in a pause: %+v", options, res)
		}
	}
	op.Options = 0
	if s.Sweep(epoch+10*sec, 100); ask(s, epoch+19*sec, op).Allowed {
		t.Error("the pause was forgotten")
	}
	if !ask(s, epoch+20*sec, op).Allowed {
		t.Error("the pause does not end")
	}
}

func TestAdaptiveRateIsShownExactly(t *testing.T) {
	for rate, want := range map[limits.Rate]string{{Tokens: 1, Period: sec}: "1", {Tokens: 5, Period: 2 * sec}: "2.5", {Tokens: 1, Period: 3 * sec}: "0.333333333", {Tokens: 1, Period: limits.MaxDuration}: "0.000000003", {Tokens: limits.MaxTokens, Period: limits.MinDuration}: "1000000000000000"} {
		if got := string(rate.AppendPerSecond(nil)); got != want {
			t.Errorf("%v is shown as %s, want %s", rate, got, want)
		}
	}
}

// The cost of a grant beside that of a token bucket.
func BenchmarkAdaptive(b *testing.B) {
	for _, limit := range []limits.Limit{bucket(1_000_000, 1_000_000, sec), adaptiveLimit(1_000_000, 1000, 1_000_000)} {
		b.Run(limit.Algorithm.String(), func(b *testing.B) {
			s := New(Config{Shards: 1})
			defer s.Close()
			ops, results := []engine.Op{{Key: []byte("a key of 16 byte"), Limit: limit, Tokens: 1}}, make([]engine.Result, 1)
			now := epoch
			for b.Loop() {
				now += 2000
				s.Apply(now, ops, results)
			}
		})
	}
}

// The lowest and the highest rate of an adaptive limit are kept in one period, both exactly or the lowest rounded down
// a little.
func TestPrintedRatesOfAnAdaptiveLimit(t *testing.T) {
	kept, refused := 0, 0
	texts := []string{"0.3333333333333333", "1", "16.666666666666668", "1.1574074074074073e-05", "1e-05", "2/m", "10/s", "3000/d", "1e12", "0.1", "1428571.428571", "1/3650d", "1e12/1e-3s"}
	for _, low := range texts {
		for _, high := range texts {
			lowest, _ := limits.ParseRate(low)
			highest, _ := limits.ParseRate(high)
			min, max := big.NewRat(lowest.Tokens, lowest.Period), big.NewRat(highest.Tokens, highest.Period)
			least, most, err := limits.WithOnePeriod(lowest, highest)
			if isAbove := min.Cmp(max) > 0; isAbove || err != nil {
				if isAbove != errors.Is(err, limits.ErrLeastAboveMost) || !isAbove && max.Cmp(new(big.Rat).Mul(min, big.NewRat(1000, 1))) < 0 {
					t.Errorf("%s to %s: %v", low, high, err)
				}
				refused++
				continue
			}
			kept++
			limit := limits.Limit{Algorithm: limits.Adaptive, Capacity: 5, Least: least, Rate: most}
			lost := new(big.Rat).Sub(min, big.NewRat(least, most.Period))
			if err := limit.Check(); err != nil || big.NewRat(most.Tokens, most.Period).Cmp(max) != 0 || lost.Sign() < 0 || lost.Quo(lost, min).Cmp(big.NewRat(1, 1000)) > 0 {
				t.Errorf("%s to %s: %+v, %v", low, high, limit, err)
			}
			var again [2]limits.Rate
			for i, p := range limit.Params()[1:] {
				again[i], _ = limits.ParseRate(p.Text)
			}
			if l, m, err := limits.WithOnePeriod(again[0], again[1]); l != least || m != most || err != nil {
				t.Errorf("%s to %s is written %v, and read as %d %v %v", low, high, again, l, m, err)
			}
		}
	}
	if kept < 50 || refused < 50 {
		t.Errorf("%d kept, %d refused", kept, refused)
	}
}
