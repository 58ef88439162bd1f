package store

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// twin is the naive model of a meter: the instant at which the bucket is full again as an exact fraction of
// nanoseconds, and the rules of the handbook written down as they read.
type twin struct {
	fullAt *big.Rat // nil: full
	limit  limits.Limit
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// nanosPerToken is T = P/N.
func nanosPerToken(r limits.Rate) *big.Rat { return big.NewRat(r.Period, r.Tokens) }

// tokensTaken is the number of tokens missing from the bucket at now. If the period of the rate changes, the engine
// keeps the usage as a multiple of 1/P of a token, rounded up; that rounding is part of the specification.
func (m *twin) tokensTaken(now int64, rate limits.Rate) *big.Rat {
	if m.fullAt == nil || m.fullAt.Cmp(rat(now)) <= 0 {
		return rat(0)
	}
	taken := new(big.Rat).Sub(m.fullAt, rat(now))
	taken.Quo(taken, nanosPerToken(m.limit.Rate))
	if rate.Period != m.limit.Rate.Period {
		if most := rat(2 * limits.MaxTokens); taken.Cmp(most) > 0 {
			taken = most
		}
		parts := new(big.Rat).Mul(taken, rat(rate.Period))
		taken.SetFrac(ceil(parts), big.NewInt(rate.Period))
	}
	return taken
}

func ceil(r *big.Rat) *big.Int {
	q, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

// ceilNanos is the time that a number of tokens takes, rounded like the engine's reports.
func ceilNanos(tokens *big.Rat, rate limits.Rate) int64 {
	n := ceil(new(big.Rat).Mul(tokens, nanosPerToken(rate)))
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

func (m *twin) apply(now int64, op engine.Op) engine.Result {
	rate, capacity := op.Limit.Rate, rat(op.Limit.Capacity)
	taken := m.tokensTaken(now, rate)
	wait := new(big.Rat).Quo(rat(op.MaxWait), nanosPerToken(rate))
	if most := rat(limits.MaxTokens); wait.Cmp(most) > 0 {
		wait = most
	}
	reach := new(big.Rat).Add(capacity, wait)
	granted, asked := op.Tokens, rat(op.Tokens)
	after := new(big.Rat).Add(taken, asked)
	fits := after.Cmp(reach) <= 0
	switch {
	case fits:
	case op.Options&engine.Force != 0:
		debt := new(big.Rat).Sub(after, capacity)
		if debt.Cmp(rat(limits.MaxTokens)) > 0 || new(big.Rat).Mul(after, nanosPerToken(rate)).Cmp(rat(limits.MaxAhead)) > 0 {
			return engine.Result{Status: engine.DebtTooBig}
		}
		fits = true
	case op.Options&engine.UpTo != 0:
		available := new(big.Rat).Sub(reach, taken)
		granted, asked = 0, rat(1)
		if available.Cmp(rat(1)) >= 0 {
			granted, fits = floor(available).Int64(), true
			after = new(big.Rat).Add(taken, rat(granted))
		}
	}
	res := engine.Result{Limit: op.Limit.Capacity}
	left := taken
	if fits {
		res.Allowed, res.Granted, left = true, granted, after
		if over := new(big.Rat).Sub(after, capacity); over.Sign() > 0 && op.Options&engine.Force == 0 {
			res.Wait = ceilNanos(over, rate)
		}
	} else {
		res.Wait = engine.NeverWait
		if asked.Cmp(reach) <= 0 {
			missing := new(big.Rat).Add(taken, asked)
			res.Wait = ceilNanos(missing.Sub(missing, reach), rate)
		}
	}
	if free := new(big.Rat).Sub(capacity, left); free.Sign() > 0 || fits && op.Options&engine.Force != 0 {
		res.Remaining = floor(free).Int64()
	}
	res.Reset = ceilNanos(left, rate)
	if fits && granted > 0 && op.Options&engine.Peek == 0 {
		m.fullAt = new(big.Rat).Add(rat(now), new(big.Rat).Mul(after, nanosPerToken(rate)))
		m.limit = op.Limit
	}
	return res
}

// step is one operation of a random sequence and when it happens.
type step struct {
	at int64
	op engine.Op
}

const epoch = int64(1_800_000_000_000_000_000)

func randomRate(r *rand.Rand) limits.Rate {
	tokens := []int64{1, 2, 3, 7, 10, 60, 1000, 1_000_003, limits.MaxTokens - 1, limits.MaxTokens, 1 + r.Int64N(limits.MaxTokens)}
	periods := []int64{1e6, 1e9, 60e9, 3600e9, 7e9, 86400e9, limits.MaxDuration, 1e6 + r.Int64N(1e12)}
	return limits.Rate{Tokens: tokens[r.IntN(len(tokens))], Period: periods[r.IntN(len(periods))]}
}

func randomLimit(r *rand.Rand, algorithm limits.Algorithm) limits.Limit {
	for {
		capacity := []int64{1, 2, 5, 16, 100, 1_000_000, limits.MaxTokens, 1 + r.Int64N(1000)}[r.IntN(8)]
		l := limits.Limit{Algorithm: algorithm, Capacity: capacity, Rate: randomRate(r)}
		if l.Check() == nil {
			return l
		}
	}
}

// randomSteps keeps to few limits and to gaps near the time a token takes, so that boundaries are met often.
func randomSteps(r *rand.Rand, n int) []step {
	all := []limits.Limit{randomLimit(r, limits.TokenBucket), randomLimit(r, limits.TokenBucket), randomLimit(r, limits.TokenBucket)}
	if r.IntN(2) == 0 {
		all = all[:1]
	}
	steps, now := make([]step, n), epoch
	for i := range steps {
		l := all[r.IntN(len(all))]
		token := max(1, l.DurationOf(1))
		switch r.IntN(8) {
		case 0, 1, 2:
		case 3:
			now += token
		case 4:
			now += r.Int64N(2*token + 1)
		case 5:
			now += r.Int64N(3)
		case 6:
			now -= r.Int64N(2*token+1) / 4 // the clock steps back
		case 7:
			now += min(l.DurationOf(l.Capacity), int64(24*time.Hour))
		}
		now = min(max(now, epoch-int64(24*time.Hour)), epoch+20*limits.MaxDuration/10)
		op := engine.Op{Key: []byte("k"), Limit: l, Tokens: []int64{1, 1, 1, 2, 3, l.Capacity, l.Capacity + 1, 1 + r.Int64N(l.Capacity), limits.MaxTokens}[r.IntN(9)]}
		op.Tokens = min(op.Tokens, limits.MaxTokens)
		op.Options = []engine.Option{0, 0, 0, 0, engine.Peek, engine.UpTo, engine.UpTo | engine.Peek, engine.Force, engine.Force | engine.Peek}[r.IntN(9)]
		if op.Options&engine.Force == 0 && r.IntN(3) == 0 {
			op.MaxWait = []int64{limits.MinDuration, token, limits.MaxDuration, 1 + r.Int64N(3*token)}[r.IntN(4)]
			op.MaxWait = min(op.MaxWait, limits.MaxDuration)
		}
		if r.IntN(20) == 0 {
			op.Tokens = 0
		}
		steps[i] = step{now, op}
	}
	return steps
}

// firstDifference replays steps on a store and on the twin.
func firstDifference(steps []step) (at int, got, want engine.Result) {
	s, m := New(Config{Shards: 1}), &twin{}
	defer s.Close()
	results, latest := make([]engine.Result, 1), int64(0)
	for i, st := range steps {
		s.Apply(st.at, []engine.Op{st.op}, results)
		now := max(st.at, latest) // see Store.Instant
		if st.op.Writes() {
			latest = now
		}
		if want = m.apply(now, st.op); !same(results[0], want) {
			return i, results[0], want
		}
	}
	return -1, got, want
}

// same compares all of two results but their parts.
func same(a, b engine.Result) bool {
	a.Parts, b.Parts, a.Leases, b.Leases = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

// shortest drops steps as long as a difference remains.
func shortest(steps []step) []step {
	for size := len(steps) / 2; size > 0; {
		shrunk := false
		for i := 0; i+size <= len(steps); {
			fewer := slices.Delete(slices.Clone(steps), i, i+size)
			if at, _, _ := firstDifference(fewer); at >= 0 {
				steps, shrunk = fewer[:at+1], true
				continue
			}
			i += size
		}
		if !shrunk {
			size /= 2
		}
	}
	return steps
}

func TestMeterEqualsExactFractions(t *testing.T) {
	for seed := range uint64(testsize.Pick(300, 1000)) {
		steps := randomSteps(rand.New(rand.NewPCG(seed, 1)), 300)
		if at, _, _ := firstDifference(steps); at < 0 {
			continue
		}
		steps = shortest(steps)
		at, got, want := firstDifference(steps)
		text := ""
		for _, st := range steps[:at+1] {
			text += fmt.Sprintf("  at epoch%+d: %+v\n", st.at-epoch, st.op)
		}
		t.Fatalf("seed %d differs from the exact model after\n%sgot  %+v\nwant %+v", seed, text, got, want)
	}
}
