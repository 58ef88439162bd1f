package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

func TestKeepOfCapacity(t *testing.T) {
	for _, c := range []struct {
		keep           engine.Keep
		capacity, want int64
		text           string
	}{
		{engine.KeepTokens(0), 10, 0, "0"},
		{engine.KeepNothing, 10, 0, "0"},
		{engine.KeepTokens(25), 10, 25, "25"},
		{engine.KeepPercent(10_000), 100, 10, "10%"},
		{engine.KeepPercent(10_000), 101, 11, "10%"}, // rounded up
		{engine.KeepPercent(12_500), 8, 1, "12.5%"},
		{engine.KeepPercent(1), 1, 1, "0.001%"},
		{engine.KeepPercent(engine.MaxKeepPercent), limits.MaxTokens, limits.MaxTokens, "100%"},
		{engine.KeepPercent(33_333), limits.MaxTokens, 333_330_000_000, "33.333%"},
		{engine.KeepPercent(33_333), limits.MaxTokens - 1, 333_330_000_000, "33.333%"},
	} {
		if got := c.keep.Of(c.capacity); got != c.want || c.keep.String() != c.text {
			t.Errorf("%v of %d: %d, want %d, written %s", c.keep, c.capacity, got, c.want, c.text)
		}
	}
}

// A granted request leaves at least the tokens of its KEEP. A denied one is granted when its wait is over, if no other
// comes before, and not a nanosecond earlier.
func TestKeepLeavesTokens(t *testing.T) {
	limits := []limits.Limit{bucket(10, 3, sec), {Algorithm: limits.GCRA, Capacity: 10, Rate: limits.Rate{Tokens: 3, Period: sec}}, {Algorithm: limits.LeakyBucket, Capacity: 10, Rate: limits.Rate{Tokens: 7, Period: sec}},
		{Algorithm: limits.FixedWindow, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: sec}}, {Algorithm: limits.SlidingWindow, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: sec}},
		{Algorithm: limits.SlidingLog, Capacity: 10, Rate: limits.Rate{Tokens: 0, Period: sec}}}
	for _, limit := range limits {
		s := New(Config{Shards: 1})
		r := rand.New(rand.NewPCG(uint64(limit.Algorithm), 5))
		now, granted, denied := epoch, 0, 0
		for range 3000 {
			now += r.Int64N(sec / 3)
			op := engine.Op{Key: []byte("k"), Limit: limit, Tokens: 1 + r.Int64N(6), Keep: []engine.Keep{engine.KeepTokens(r.Int64N(11)), engine.KeepPercent(r.Int64N(engine.MaxKeepPercent))}[r.IntN(2)]}
			kept := op.Keep.Of(limit.Capacity)
			if r.IntN(4) == 0 {
				op.Options = engine.UpTo
			}
			switch res := ask(s, now, op); {
			case res.Allowed:
				if granted++; res.Remaining < kept || res.Granted > op.Tokens || res.Wait != 0 {
					t.Fatalf("%v: %+v leaves %d: %+v", limit, op, res.Remaining, res)
				}
			case res.Wait == engine.NeverWait:
				if least := min(op.Tokens, limit.Capacity); op.Options&engine.UpTo == 0 && least+kept <= limit.Capacity || kept < limit.Capacity && op.Options&engine.UpTo != 0 {
					t.Fatalf("%v: %+v is never granted: %+v", limit, op, res)
				}
			default:
				denied++
				peek := op
				peek.Options |= engine.Peek
				if before := ask(s, now+res.Wait-1, peek); before.Allowed {
					t.Fatalf("%v: %+v is granted before its wait of %d: %+v", limit, op, res.Wait, before)
				}
				if after := ask(s, now+res.Wait, peek); !after.Allowed {
					t.Fatalf("%v: %+v is denied after its wait of %d: %+v", limit, op, res.Wait, after)
				}
			}
		}
		if granted < 300 || denied < 300 {
			t.Errorf("%v: %d granted and %d denied: the traffic tries too little", limit, granted, denied)
		}
		s.Close()
	}
}

// A request for the whole limit with UPTO and a KEEP, as RL.ATMOST makes it, leaves at most the tokens of the KEEP, and
// takes only what there is beyond them.
func TestKeepOfTheWholeLimitLeavesAtMost(t *testing.T) {
	for _, algorithm := range limits.Algorithms() {
		if !algorithm.Keeps() {
			continue
		}
		limit := limits.Limit{Algorithm: algorithm, Capacity: 10, Rate: limits.Rate{Period: sec}}
		if algorithm.HasRate() {
			limit.Rate.Tokens = 7
		}
		if algorithm == limits.SlidingSegments {
			limit.Segments = 5
		}
		s := New(Config{Shards: 1})
		r := rand.New(rand.NewPCG(uint64(algorithm), 7))
		now, taken := epoch, int64(0)
		for range 3000 {
			now += r.Int64N(sec / 3)
			before := ask(s, now, engine.Op{Key: []byte("k"), Limit: limit, Tokens: r.Int64N(4), Options: engine.UpTo}).Remaining
			left := r.Int64N(12)
			keep := engine.KeepTokens(left)
			if left == 0 {
				keep = engine.KeepNothing
			}
			res := ask(s, now, engine.Op{Key: []byte("k"), Limit: limit, Tokens: limit.Capacity, Options: engine.UpTo, Keep: keep})
			if res.Granted != max(0, before-left) || res.Remaining != min(before, left) {
				t.Fatalf("%v: at most %d of %d: %+v", limit, left, before, res)
			}
			taken += res.Granted
		}
		if taken < 300 {
			t.Errorf("%v: %d tokens were taken: the traffic tries too little", limit, taken)
		}
		s.Close()
	}
}

// Callers without KEEP, each held to a bucket, are never denied if all others ask with a KEEP of at least the sum of
// these buckets' capacities, and the sum of their rates is at most the limit's rate.
func TestKeepGuarantee(t *testing.T) {
	granted, others := 0, int64(0)
	for _, algorithm := range []limits.Algorithm{limits.TokenBucket, limits.LeakyBucket} {
		for seed := range uint64(40) {
			r := rand.New(rand.NewPCG(seed, uint64(algorithm)))
			s := New(Config{Shards: 1})
			limit := limits.Limit{Algorithm: algorithm, Capacity: 20 + r.Int64N(80), Rate: limits.Rate{Tokens: 10, Period: sec}}
			kept := 10 + r.Int64N(limit.Capacity-10)
			rates := [][]int64{{3, 4, 3}, {1, 2, 1}}[r.IntN(2)] // all of the rate, or less
			critical := []limits.Limit{bucket(kept/3, rates[0], sec), bucket(kept/3, rates[1], sec), bucket(kept-2*(kept/3), rates[2], sec)}
			now := epoch
			for range 3000 {
				now += r.Int64N(sec / 10)
				if r.IntN(2) == 0 {
					op := engine.Op{Key: []byte("shared"), Limit: limit, Tokens: 1 + r.Int64N(limit.Capacity), Keep: engine.KeepTokens(kept), Options: engine.UpTo * engine.Option(r.IntN(2))}
					others += ask(s, now, op).Granted
					continue
				}
				i := r.IntN(len(critical))
				allowance := ask(s, now, engine.Op{Key: fmt.Append(nil, i), Limit: critical[i], Tokens: critical[i].Capacity, Options: engine.UpTo})
				if !allowance.Allowed {
					continue
				}
				if res := ask(s, now, engine.Op{Key: []byte("shared"), Limit: limit, Tokens: allowance.Granted}); !res.Allowed {
					t.Fatalf("%v, seed %d: %d tokens within the allowance of caller %d are denied: %+v", limit, seed, allowance.Granted, i, res)
				}
				granted++
			}
			s.Close()
		}
	}
	if granted < 10_000 || others < 10_000 {
		t.Errorf("%d requests of critical callers, %d tokens of others: the traffic tries too little", granted, others)
	}
}

// The bound is tight: one token more than is kept, asked at once, is denied when others have taken all they may.
func TestKeepGuaranteeIsTight(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(100, 1, sec)
	ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 100, Keep: 30, Options: engine.UpTo})
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 31}); res.Allowed {
		t.Errorf("31 of 30 kept tokens: %+v", res)
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 30}); !res.Allowed {
		t.Errorf("30 of 30 kept tokens: %+v", res)
	}
}

// MAXWAIT does not apply to a limit with a KEEP: a reservation ahead of time would take the tokens of the KEEP.
func TestKeepMustHaveRoomNow(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	op := engine.Op{Key: []byte("k"), Limit: bucket(10, 1, sec), Tokens: 6, Keep: 5, MaxWait: 100 * sec}
	if res := ask(s, epoch, op); res.Allowed || res.Wait != engine.NeverWait {
		t.Errorf("%+v", res)
	}
	op.Tokens = 5
	if res := ask(s, epoch, op); !res.Allowed || res.Wait != 0 {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch, op); res.Allowed || res.Wait != 5*sec {
		t.Errorf("%+v", res)
	}
}

// COST 0 reports a limit, also one in debt or with another's lease, and takes nothing of it.
func TestCostOfNothing(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	debt, lease := bucket(5, 1, sec), limits.Limit{Algorithm: limits.Concurrency, Capacity: 1, Rate: limits.Rate{Tokens: 0, Period: sec}}
	ask(s, epoch, engine.Op{Key: []byte("debt"), Limit: debt, Tokens: 8, Options: engine.Force})
	ask(s, epoch, engine.Op{Key: []byte("lease"), Limit: lease, Who: []byte("a"), Tokens: 1})
	before := contents(s, epoch)
	parts := []engine.Op{
		{Key: []byte("debt"), Limit: debt, Options: engine.FixedCost, Keep: 9},
		{Key: []byte("lease"), Limit: lease, Who: []byte("b"), Options: engine.FixedCost},
		{Key: []byte("new"), Limit: debt, Options: engine.FixedCost},
	}
	res := ask(s, epoch, engine.Op{Verb: engine.AcquireAll, Tokens: 7, Parts: parts})
	if !res.Allowed || res.Granted != 7 || res.Parts[0].Remaining != 0 || res.Parts[1].Remaining != 0 || res.Parts[2].Remaining != 5 {
		t.Errorf("%+v", res)
	}
	if after := contents(s, epoch); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v became %v", before, after)
	}
}

// Several limits are waited for as one reservation, due when the last of them is.
func TestWaitForSeveralLimits(t *testing.T) {
	s := New(Config{Shards: 2})
	defer s.Close()
	slow, fast := bucket(2, 1, sec), bucket(2, 10, sec)
	queue := limits.Limit{Algorithm: limits.LeakyQueue, Capacity: 3, Rate: limits.Rate{Tokens: 2, Period: sec}}
	all := engine.Op{Verb: engine.AcquireAll, Tokens: 2, Parts: []engine.Op{{Key: []byte("slow"), Limit: slow, Tokens: 2}, {Key: []byte("fast"), Limit: fast, Tokens: 2}, {Key: []byte("queue"), Limit: queue, Tokens: 1, Options: engine.FixedCost}}}
	all.SetMaxWait(5 * sec)
	for i, want := range []int64{0, 2 * sec, 4 * sec} {
		if res := ask(s, epoch, all); !res.Allowed || res.Wait != want {
			t.Fatalf("request %d: %+v, want a wait of %d", i+1, res, want)
		}
	}
	if res := ask(s, epoch, all); res.Allowed {
		t.Errorf("granted beyond the longest wait: %+v", res)
	}
}
