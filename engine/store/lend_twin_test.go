package store

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// A limiter with loans decides every request like one with a capacity smaller by the lent tokens, from which spent
// tokens are taken by force.
func TestLimiterWithLoansDecidesAsASmallerOne(t *testing.T) {
	for _, limit := range []limits.Limit{bucket(200, 5, sec), {Algorithm: limits.GCRA, Capacity: 90, Rate: limits.Rate{Tokens: 60, Period: 7 * sec}}, {Algorithm: limits.LeakyBucket, Capacity: 200, Rate: limits.Rate{Tokens: 30, Period: sec}},
		{Algorithm: limits.FixedWindow, Capacity: 200, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}}, {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: 200, Rate: limits.Rate{Tokens: 0, Period: 2 * sec}},
		{Algorithm: limits.FixedWindow, Span: limits.EachMinute, Capacity: 1_000_000_000}} {
		lentTo, ended := 0, 0
		for seed := range uint64(testsize.Pick(20, 100)) {
			p := lentPair{t: t, r: rand.New(rand.NewPCG(seed, 3)), store: New(Config{Shards: 1}), smaller: New(Config{Shards: 1}), now: epoch, limit: limit}
			for range 300 {
				p.step()
			}
			lentTo, ended = lentTo+p.lent, ended+p.ended
			p.store.Close()
			p.smaller.Close()
			if t.Failed() {
				t.Fatalf("%v, seed %d", limit, seed)
			}
		}
		if lentTo == 0 || ended == 0 {
			t.Errorf("%v: lent %d times, ended %d times", limit, lentTo, ended)
		}
	}
}

// lentPair is a store with loans on a key, and one with a smaller limit.
type lentPair struct {
	t              *testing.T
	r              *rand.Rand
	store, smaller *Store
	limit          limits.Limit // of the requests
	now            int64
	number         uint64
	lent, ended    int
}

func (p *lentPair) look() engine.Result {
	return ask(p.store, p.now, engine.Op{Verb: engine.Look, Key: []byte("k")})
}

// charge has tokens taken from the smaller limiter.
func (p *lentPair) charge(at, tokens int64, held limits.Limit) {
	if tokens > 0 {
		ask(p.smaller, at, engine.Op{Key: []byte("k"), Limit: held, Tokens: tokens, Options: engine.Force})
	}
}

func (p *lentPair) step() {
	held := p.look().Held
	later := p.now
	if p.r.IntN(3) > 0 {
		later += p.r.Int64N([]int64{sec / 20, sec, 30 * sec}[p.r.IntN(3)])
	}
	p.end(later, held)
	p.now = later
	if look := p.look(); look.Status == engine.OK {
		held = look.Held
	}
	switch p.r.IntN(12) {
	case 0, 1, 2, 3:
		p.loan(held)
	case 4:
		p.both(engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: 1 + p.r.Int64N(p.limit.Capacity)}, held)
	case 5:
		if p.r.IntN(8) == 0 {
			p.both([]engine.Op{{Verb: engine.Delete, Key: []byte("k")}, {Verb: engine.Flush}}[p.r.IntN(2)], held)
		}
	case 6:
		if p.r.IntN(8) == 0 {
			p.limit.Capacity += p.r.Int64N(100)
			if p.limit.Algorithm != limits.FixedWindow {
				p.limit.Rate.Tokens = 1 + p.r.Int64N(60)
			}
		}
	default:
		p.both(p.request(), held)
	}
}

// end has the loans charged that end until a time.
func (p *lentPair) end(until int64, held limits.Limit) {
	listed := ask(p.store, p.now, engine.Op{Verb: engine.Loans, Key: []byte("k")})
	all := listed.LoansListed()
	slices.SortStableFunc(all, func(a, b engine.LoanOf) int { return cmp.Compare(a.Left, b.Left) })
	for _, one := range all {
		if one.Left > 0 && p.now+one.Left <= until {
			p.ended++
			p.charge(p.now+one.Left, one.Tokens, held)
		}
	}
}

func (p *lentPair) request() engine.Op {
	op := engine.Op{Key: []byte("k"), Limit: p.limit, Tokens: 1 + p.r.Int64N([]int64{5, p.limit.Capacity}[p.r.IntN(2)])}
	op.Options = []engine.Option{0, 0, engine.Force, engine.UpTo, engine.Peek}[p.r.IntN(5)]
	if op.Options&engine.Force == 0 {
		op.Keep = []engine.Keep{0, 0, engine.KeepTokens(p.r.Int64N(40))}[p.r.IntN(3)]
		op.MaxWait = []int64{0, 0, sec, 5 * sec}[p.r.IntN(4)]
	}
	switch p.r.IntN(4) {
	case 0:
		return engine.Op{Verb: engine.AcquireAll, Tokens: op.Tokens, Options: op.Options &^ (engine.Force | engine.UpTo), MaxWait: op.MaxWait, Parts: []engine.Op{op}}
	case 1:
		op.Options &^= engine.Peek
		p.number++
		return engine.Op{Verb: engine.Reserve, Key: keyOf(int(p.number)), MaxWait: sec * 10, Parts: []engine.Op{op}}
	case 2:
		return engine.Op{Verb: engine.Settle, Key: keyOf(int(p.number) - p.r.IntN(5)), Tokens: p.r.Int64N(30)}
	}
	return op
}

// both carries out a request on both limiters.
func (p *lentPair) both(op engine.Op, held limits.Limit) {
	before := p.look()
	less := op.Clone()
	asked := less.Request()
	asked.Limit.Capacity -= before.Lent
	for i := range asked.Parts {
		asked.Parts[i].Limit.Capacity -= before.Lent
	}
	if p.limit.Capacity <= before.Lent || held.Capacity <= before.Lent {
		return // no smaller limit has so little
	}
	got, want := ask(p.store, p.now, op), ask(p.smaller, p.now, less)
	if got.Status != want.Status && want.Status != engine.NotFound || got.Allowed != want.Allowed || got.Granted != want.Granted || got.Wait > 0 && want.Wait > 0 && got.Wait != want.Wait {
		p.t.Errorf("%+v, %d lent:\n%+v\n%+v", op, before.Lent, got, want)
	}
}

func (p *lentPair) loan(held limits.Limit) {
	who := []byte{'a' + byte(p.r.IntN(layout.FewLoans))}
	void := ask(p.store, p.now, engine.Op{Verb: engine.Void, Key: []byte("k"), Who: who})
	p.number++
	op := engine.Op{Verb: engine.Lend, Key: []byte("k"), Who: who, Limit: p.limit, Tokens: 1 + p.r.Int64N(p.limit.Capacity),
		MaxWait: []int64{0, sec, 20 * sec}[p.r.IntN(3)], Loan: &engine.Loan{Number: p.number, Previous: void.Number, Left: p.r.Int64N(void.Lent + 1)}}
	if op.Verb = []engine.Verb{engine.Lend, engine.Lend, engine.Return, engine.Void}[p.r.IntN(4)]; op.Verb == engine.Void {
		op.Loan, op.Options = nil, engine.Force
	} else if op.Verb == engine.Lend && p.number%3 == 0 {
		op.Options = engine.Whole
	} else if op.Verb == engine.Return {
		op.Keep = engine.KeepTokens(p.r.Int64N(void.Lent - op.Loan.Left + 1))
	}
	res := ask(p.store, p.now, op)
	switch op.Verb {
	case engine.Lend:
		p.charge(p.now, void.Lent-op.Loan.Left, held)
		p.lent += int(min(1, res.Granted))
	case engine.Return:
		p.charge(p.now, void.Lent-res.Granted-int64(op.Keep), held)
	case engine.Void:
		p.charge(p.now, res.Granted, held)
	}
}
