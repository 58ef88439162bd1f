package purse

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

const second = int64(1e9)

var poolLimit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: 100, Rate: limits.Rate{Tokens: 1, Period: 3600 * second}}

// lends is the Lend of a holder for 10 s.
func lends(who string, tokens int64, number, previous uint64, left int64) *engine.Op {
	loan := &engine.Loan{Number: number, Previous: previous, Left: left}
	return &engine.Op{Verb: engine.Lend, Who: []byte(who), Limit: poolLimit, Tokens: tokens, MaxWait: 10 * second, Loan: loan}
}

// funded returns a Pool to which home has lent tokens at a time.
func funded(t *testing.T, now, tokens int64) *Pool {
	p := NewPool(now)
	op := lends("a", tokens, 1, 0, 0)
	if !p.Needs(now, op) {
		t.Error("an empty pool does not ask home")
	}
	sent := p.Ask(now, []byte("zone"), []*engine.Op{op})
	if sent.Verb != engine.Lend || sent.Tokens != tokens || sent.MaxWait != 20*second || sent.Loan.Left != 0 {
		t.Errorf("home is asked for %+v", sent)
	}
	p.Hear(now, &engine.Result{Granted: tokens, Limit: 100, Remaining: 100 - tokens, Lent: tokens, Number: sent.Loan.Number})
	return p
}

func TestPoolLendsOn(t *testing.T) {
	p, now := funded(t, second, 40), second
	step := func(name string, op *engine.Op, want [3]int64) {
		t.Helper()
		res := p.Now(now, op)
		if got := [3]int64{res.Granted, res.Lent, int64(res.Number)}; res.Status != engine.OK || got != want {
			t.Errorf("%s: status %d, %v, want %v", name, res.Status, got, want)
		}
	}
	back := func(number, previous uint64, left, keep int64) *engine.Op {
		op := lends("a", 0, number, previous, left)
		op.Verb, op.Keep = engine.Return, engine.KeepTokens(keep)
		return op
	}
	step("an eighth of all", lends("a", 40, 1, 0, 0), [...]int64{12, 12, 1})
	step("asked again", lends("a", 40, 1, 0, 0), [...]int64{12, 12, 1})
	step("2 were spent", lends("a", 5, 2, 1, 10), [...]int64{5, 15, 2})
	step("out of order", lends("a", 5, 3, 1, 10), [...]int64{0, 15, 2})
	step("one is kept, and 4 were spent", back(4, 2, 10, 1), [...]int64{10, 1, 4})
	step("returned", back(5, 4, 1, 0), [...]int64{1, 0, 0})
	step("returned again", back(5, 4, 1, 0), [...]int64{0, 0, 0})
	step("another holder", lends("b", 3, 1, 0, 0), [...]int64{3, 3, 1})
	if res := p.Now(now, lends("b", 3, 2, 1, 4)); res.Status != engine.NotHeld || res.Lent != 3 {
		t.Errorf("more left than held: %+v", res)
	}
	now += 7 * second // the loan from home is used until 17.5 s after it was asked for
	step("in time", lends("b", 0, 2, 1, 3), [...]int64{0, 3, 2})
	now += second
	if res := p.Now(now, lends("b", 0, 3, 2, 3)); res.Status != engine.NoHome {
		t.Errorf("a loan that would outlive that of home: %+v", res)
	}
	step("nor is another one made", lends("c", 3, 1, 0, 0), [...]int64{0, 0, 0})
	if op := p.Ask(now, nil, nil); op.Verb != engine.Return || op.Loan.Left != 31 || op.Keep != 3 { // 6 of 40 were spent
		t.Errorf("nobody wants any: %+v, %+v", op, op.Loan)
	}
	if now += 9 * second; p.Knows([]byte("b")) && p.of(now, []byte("b")).tokens > 0 || p.out != 0 || p.spent != 9 {
		t.Errorf("a loan whose time is over: %d are out, %d spent", p.out, p.spent)
	}
}

// A loan that home has ended is nobody's: no token of it comes back.
func TestPoolWithoutLoan(t *testing.T) {
	p := funded(t, second, 40)
	p.Now(second, lends("a", 12, 1, 0, 0))
	p.Ask(second, nil, []*engine.Op{lends("b", 100, 1, 0, 0)})
	p.Hear(second, &engine.Result{Limit: 100, Remaining: 50})
	if res := p.Now(second, lends("a", 12, 2, 1, 12)); res.Number != 0 || res.Granted != 0 || p.Tokens != 0 || !p.IsEmpty(second) {
		t.Errorf("%+v, %d tokens are left", res, p.Tokens)
	}
}

// A home that has a few tokens and lends none of them is asked no more often than one that has none.
func TestHomeThatLendsNothingRests(t *testing.T) {
	p, asks := NewPool(0), 0
	for i := range int64(1000) { // a second, of which each millisecond another holder asks
		op := lends(fmt.Sprint(i), 2, 1, 0, 0)
		if now := i * second / 1000; p.Needs(now, op) && p.MayAsk(now) {
			asks++
			p.Ask(now, nil, []*engine.Op{op})
			p.Hear(now, &engine.Result{Remaining: 7})
		}
	}
	if asks == 0 || asks > 1000/25 {
		t.Errorf("home was asked %d times in a second", asks)
	}
}

// A pool takes MaxHolders holders and no more, and each of them takes less than 1 kB of memory.
func TestPoolOfManyHolders(t *testing.T) {
	p := funded(t, second, 2*MaxHolders)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range MaxHolders + 1 {
		res := p.Lend(second, lends(fmt.Sprintf("server-0123456789abcdef0123456789abcdef%d", i), 1, 1, 0, 0), 1)
		if want := int64(min(1, MaxHolders-i)); res.Granted != want {
			t.Fatalf("holder %d gets %d tokens", i, res.Granted)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int64(after.HeapAlloc-before.HeapAlloc) / MaxHolders
	t.Logf("%d bytes a holder", each)
	if each > 1024 || p.Holders() != MaxHolders {
		t.Errorf("%d bytes for each of %d holders", each, p.Holders())
	}
}

// An operation of which home's answer is lost may have shortened the owner's loan: nobody is lent tokens for longer.
func TestNoLoanOutlivesAShorterOne(t *testing.T) {
	p, now := funded(t, second, 40), second
	long := lends("long", 5, 1, 0, 0)
	long.MaxWait = 60 * second
	sent := p.Ask(now, nil, []*engine.Op{long}) // FOR 120 s
	p.Hear(now, &engine.Result{Granted: sent.Tokens, Lent: 40 + sent.Tokens, Number: sent.Loan.Number, Remaining: 50})
	p.Serve(now, []*engine.Op{long})
	back := lends("long", 0, 2, 1, 5)
	back.Verb = engine.Return
	p.Now(now, back)
	short := lends("short", 90, 1, 0, 0)
	short.Options = engine.Whole
	sent = p.Ask(now, nil, []*engine.Op{short}) // FOR 20 s: home carries it out now, and the link breaks
	over := now + sent.MaxWait                  // home counts all as spent then
	p.Failed(now)
	p.Serve(now, []*engine.Op{short})
	back = lends("short", 0, 2, 1, 10)
	back.Verb = engine.Return
	p.Now(now+second, back)
	for _, after := range []int64{-second, 10 * second} {
		now = over + after
		late := lends(string(rune('a'+after/second+5)), 3, 1, 0, 0)
		p.Needs(now, late)
		p.Ask(now, nil, []*engine.Op{late})
		p.Failed(now)
		if res := p.Serve(now, []*engine.Op{late})[0]; res.Granted > 0 {
			t.Errorf("at %d s, %d tokens are lent until %d s, but home counts the loan as spent at %d s", now/second, res.Granted, (now+late.MaxWait)/second, over/second)
		}
	}
}

// A Lend that home refuses keeps nobody else out, and its Pool is forgotten.
func TestRefusedLendKeepsNobodyElseOut(t *testing.T) {
	p, now := NewPool(second), second
	wrong := lends("wrong", 5, 1, 0, 0)
	wrong.Limit.Algorithm, wrong.Limit.Rate = limits.FixedWindow, limits.Rate{}
	p.Ask(now, nil, []*engine.Op{wrong})
	p.Failed(now) // home: WRONGTYPE
	p.Serve(now, []*engine.Op{wrong})
	if now += 3600 * second; !p.IsEmpty(now) || p.IsEmpty(2*second) {
		t.Error("a Pool that never had a loan is forgotten too early, or never")
	}
	if sent := p.Ask(now, nil, []*engine.Op{lends("good", 5, 1, 0, 0)}); sent.Limit != poolLimit {
		t.Errorf("an hour later home is still asked under %+v", sent.Limit)
	}
}
