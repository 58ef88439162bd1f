package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

func TestPurse(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := slow
	limit.Algorithm = limits.PurseTokenBucket
	key, now := []byte("k"), epoch
	do := func(op engine.Op) engine.Result {
		op.Key = key
		return ask(s, now, op)
	}
	take := func(n int64) bool {
		res := do(engine.Op{Limit: limit, Tokens: n})
		return res.Allowed
	}
	prepare := func(options engine.Option) purse.Purse {
		res := do(engine.Op{Verb: engine.Prepare, Limit: limit, Options: options})
		return purse.Of(&res)
	}
	deposit := func(x purse.Purse, lent int64, named uint64) int64 {
		res := do(x.Answered(key, lent, named))
		return res.Granted
	}
	if take(1) || s.Len() != 0 {
		t.Error("a key without a purse grants")
	}
	first := prepare(0)
	if again := prepare(0); again != first || first.Previous != 0 || first.Left != 0 || s.PurseCount() != 1 {
		t.Errorf("prepared is %+v, then %+v", first, again)
	}
	if n, again := deposit(first, 12, first.Number), deposit(first, 12, first.Number); n != 12 || again != 0 {
		t.Errorf("%d tokens are deposited, then %d", n, again)
	}
	if !take(5) || take(8) {
		t.Error("not 7 tokens are left")
	}
	second := prepare(0)
	if !take(3) || second.Left != 7 || second.Previous != first.Number || second.Number <= first.Number {
		t.Errorf("the second operation is %+v", second)
	}
	if n := deposit(first, 12, first.Number); n != 0 {
		t.Errorf("the first answer brings %d tokens again", n)
	}
	if deposit(second, 0, first.Number); !take(4) || take(1) {
		t.Error("an operation without effect at home changed the tokens")
	}
	third := prepare(0)
	deposit(third, 9, third.Number)
	do(engine.Op{Verb: engine.Delete})
	do(engine.Op{Verb: engine.Flush})
	if look := do(engine.Op{Verb: engine.Look}); look.Remaining != 9 || look.Held != limit || look.Reset != engine.NeverExpires {
		t.Errorf("after resets: %+v", look)
	}
	if wrong := do(engine.Op{Limit: slow, Tokens: 1}); wrong.Status != engine.WrongType {
		t.Errorf("a limiter decides on the key of a purse: %+v", wrong)
	}
	ended := prepare(0) // home has ended the loan
	if deposit(ended, 0, 0); s.PurseCount() != 0 || take(1) {
		t.Error("tokens are left that home does not lend")
	}
	now += 10
	fourth := prepare(0)
	deposit(fourth, 9, fourth.Number)
	last := prepare(engine.Cancel)
	if take(1) || !last.Returning || last.Left != 9 || fourth.Number <= ended.Number {
		t.Errorf("to be returned: %+v, before %+v and %+v", last, fourth, ended)
	}
	if deposit(last, 9, 0); s.PurseCount() != 0 || s.Len() != 0 {
		t.Error("the purse is left")
	}
}

// Purses of two stores are the same after the same operations, though one answers without changes where it can, and is
// made again from its entries.
func TestPursesOfReplicasAreEqual(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 23))
		one, other := New(Config{Shards: 1, Commands: txSteps{}}), New(Config{Shards: 16, Commands: txSteps{}})
		now, a, b := epoch, make([]engine.Result, 1), make([]engine.Result, 1)
		var prepared []purse.Purse
		deposits := 0
		for i := range 1500 {
			now += r.Int64N(sec)
			key := fmt.Appendf(nil, "key-%d", r.IntN(4))
			limit := bucket(50, 1, sec)
			if r.IntN(10) > 0 {
				limit.Algorithm = limits.PurseTokenBucket
			}
			op := engine.Op{Key: key, Limit: limit, Tokens: 1 + r.Int64N(3), Options: []engine.Option{0, engine.Peek, engine.UpTo}[r.IntN(3)]}
			switch n := r.IntN(20); {
			case n < 6 && limit.Algorithm == limits.PurseTokenBucket:
				op = engine.Op{Verb: engine.Prepare, Key: key, Limit: limit, Options: []engine.Option{0, 0, engine.Cancel, engine.Force}[r.IntN(4)]}
			case n < 12 && len(prepared) > 0:
				x := prepared[max(0, len(prepared)-1-r.IntN(4))]
				op = x.Answered(key, r.Int64N(9), []uint64{x.Number, x.Number, x.Previous, 0}[r.IntN(4)])
			case n == 12:
				op = []engine.Op{{Verb: engine.Delete, Key: key}, {Verb: engine.Flush}, {Verb: engine.Look, Key: key}}[r.IntN(3)]
			}
			one.Apply(now, []engine.Op{op}, a)
			if !other.TryReadOnly(now, &op, &b[0]) {
				other.Apply(now, []engine.Op{op}, b)
			}
			if !sameResult(a[0], b[0]) {
				t.Fatalf("seed %d step %d: %+v is answered\n%+v\n%+v", seed, i, op, shown(a[0]), shown(b[0]))
			}
			switch {
			case op.Verb == engine.Prepare && a[0].Status == engine.OK && purse.Of(&a[0]).Prepared:
				prepared = append(prepared, purse.Of(&a[0]))
			case op.Verb == engine.Deposit && a[0].Granted > 0:
				deposits++
			}
			if i%500 == 250 {
				other = remade(t, other, now)
			}
			if one.PurseCount() != other.PurseCount() || i%50 == 0 && one.Digest(now) != other.Digest(now) {
				t.Fatalf("seed %d step %d: %d and %d purses\n%s\n%s", seed, i, one.PurseCount(), other.PurseCount(), dumpText(one, now), dumpText(other, now))
			}
		}
		if deposits < 10 {
			t.Errorf("seed %d: only %d deposits", seed, deposits)
		}
		one.Close()
		other.Close()
	}
}
