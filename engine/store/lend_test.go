package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// lend asks for tokens for a holder.
func lend(holder string, limit limits.Limit, want int64, number, previous uint64, left int64) engine.Op {
	return engine.Op{Verb: engine.Lend, Key: []byte("k"), Who: []byte(holder), Limit: limit, Tokens: want, Loan: &engine.Loan{Number: number, Previous: previous, Left: left}}
}

func giveBack(holder string, number, previous uint64, left int64) engine.Op {
	return engine.Op{Verb: engine.Return, Key: []byte("k"), Who: []byte(holder), Loan: &engine.Loan{Number: number, Previous: previous, Left: left}}
}

func loanAnswer(r engine.Result) [5]int64 {
	return [...]int64{r.Granted, r.Limit, r.Remaining, r.Lent, int64(r.Number)}
}

// slow refills so slowly that no answer depends on time.
var slow = bucket(100, 1, 3600*sec)

func TestLend(t *testing.T) {
	acquire := func(n int64) engine.Op { return engine.Op{Key: []byte("k"), Limit: slow, Tokens: n} }
	s := New(Config{Shards: 1})
	defer s.Close()
	run := func(name string, op engine.Op, want [5]int64) {
		t.Helper()
		if got := loanAnswer(ask(s, epoch, op)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	run("an eighth of what is there", lend("a", slow, 50, 1, 0, 0), [...]int64{12, 100, 88, 12, 1})
	run("asked again", lend("a", slow, 50, 1, 0, 0), [...]int64{12, 100, 88, 12, 1})
	run("another holder", lend("b", slow, 5, 2, 0, 0), [...]int64{5, 100, 83, 5, 2})
	run("not after the last operation", lend("a", slow, 5, 3, 0, 0), [...]int64{0, 100, 83, 12, 1})
	run("an acquire cannot take what is lent", acquire(84), [...]int64{0, 100, 83, 0, 0})
	run("an acquire takes the others", acquire(3), [...]int64{3, 100, 80, 0, 0})
	run("7 of 12 were spent", lend("a", slow, 4, 4, 1, 5), [...]int64{4, 100, 76, 9, 4})
	run("nothing to report or to get", lend("a", slow, 0, 5, 4, 9), [...]int64{0, 100, 76, 9, 4})
	run("a refund gives back what was taken, nothing of what is lent", engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: 50}, [...]int64{10, 100, 86, 0, 0})
	run("2 of 9 were spent", giveBack("a", 6, 4, 7), [...]int64{7, 100, 93, 0, 0})
	run("given back before", giveBack("a", 6, 4, 7), [...]int64{0, 100, 93, 0, 0})
	run("void without force", engine.Op{Verb: engine.Void, Key: []byte("k"), Who: []byte("b")}, [...]int64{0, 100, 93, 5, 2})
	run("void", engine.Op{Verb: engine.Void, Key: []byte("k"), Who: []byte("b"), Options: engine.Force}, [...]int64{5, 100, 93, 0, 0})
	run("void again", engine.Op{Verb: engine.Void, Key: []byte("k"), Who: []byte("b"), Options: engine.Force}, [...]int64{0, 100, 93, 0, 0})
	if res := ask(s, epoch, lend("a", slow, 1, 7, 0, 1)); res.Status != engine.NotHeld {
		t.Errorf("more left than held: %v", res.Status)
	}
}

// Resetting a key, or all of them, leaves what holders may still spend set aside.
func TestResetKeepsLoans(t *testing.T) {
	for _, limit := range []limits.Limit{slow, {Algorithm: limits.GCRA, Capacity: 100, Rate: limits.Rate{Tokens: 1, Period: 3600 * sec}}, {Algorithm: limits.LeakyBucket, Capacity: 100, Rate: limits.Rate{Tokens: 1, Period: 3600 * sec}},
		{Algorithm: limits.FixedWindow, Capacity: 100, Rate: limits.Rate{Tokens: 0, Period: sec}}} {
		for _, reset := range []engine.Op{{Verb: engine.Delete, Key: []byte("k")}, {Verb: engine.Flush}} {
			s := New(Config{Shards: 1})
			ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 36})
			ask(s, epoch, lend("a", limit, 8, 1, 0, 0))
			ask(s, epoch, reset)
			look := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("k")})
			if look.Remaining != 92 || look.Lent != 8 || look.Held != limit {
				t.Errorf("%v after %v: %+v", limit.Algorithm, reset.Verb, look)
			}
			if keys := s.LentKeys(); keys != 1 {
				t.Errorf("%d keys are lent", keys)
			}
			ask(s, epoch, giveBack("a", 2, 1, 8))
			if look := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("k")}); look.Status != engine.NotFound || s.LentKeys() > 1 {
				t.Errorf("after it was given back: %+v", look)
			}
			if used := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 100}); !used.Allowed {
				t.Errorf("all of it: %+v", used)
			}
			if n := s.LentKeys(); n != 0 {
				t.Errorf("%d keys count as lent", n)
			}
			s.Close()
		}
	}
}

// A loan with an end counts as spent then, and not at the time at which somebody looks.
func TestLoanEnds(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(100, 1, sec)
	op := lend("a", limit, 10, 1, 0, 0)
	op.MaxWait = 5 * sec
	ask(s, epoch, op)
	for at, want := range map[int64]int64{epoch + 5*sec - 1: 90, epoch + 5*sec: 90, epoch + 7*sec: 92} {
		if res := ask(s, at, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Remaining != want {
			t.Errorf("after %d ns: %d remaining, want %d", at-epoch, res.Remaining, want)
		}
	}
	if res := ask(s, epoch+15*sec, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Status != engine.NotFound {
		t.Errorf("once it is full again: %+v", res)
	}
	renew := lend("a", limit, 0, 2, 1, 10)
	renew.MaxWait = 60 * sec
	ask(s, epoch+4*sec, renew)
	if res := ask(s, epoch+20*sec, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Lent != 10 {
		t.Errorf("renewed: %+v", res)
	}
	listed := ask(s, epoch+20*sec, engine.Op{Verb: engine.Loans, Key: []byte("k")})
	if all := listed.LoansListed(); len(all) != 1 || string(all[0].Holder) != "a" || all[0].Tokens != 10 || all[0].Left != 44*sec {
		t.Errorf("listed: %+v", all)
	}
}

func TestLoansAreBounded(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	for i := range byte(layout.MaxLoans + 1) {
		res := ask(s, epoch, lend(string('a'+i), slow, 1, uint64(i)+1, 0, 0))
		if granted := int64(1); i == layout.MaxLoans && res.Granted != 0 || i < layout.MaxLoans && res.Granted != granted {
			t.Errorf("holder %d got %d", i, res.Granted)
		}
	}
	for i := s.LentKeys(); i < keyspace.MaxLentKeys; i++ {
		one := lend("a", slow, 1, 100, 0, 0)
		one.Key = fmt.Append(nil, "lent", i)
		if res := ask(s, epoch, one); res.Granted != 1 {
			t.Fatalf("key %d: %+v", i, res)
		}
	}
	other := lend("a", slow, 1, 100, 0, 0)
	other.Key = []byte("another")
	if res := ask(s, epoch, other); res.Granted != 0 {
		t.Errorf("beyond the bound on keys: %+v", res)
	}
	if res := ask(s, epoch, lend("a", slow, 1, 101, 1, 1)); res.Granted != 1 {
		t.Errorf("a key that is lent: %+v", res)
	}
}

// A limit with other parameters lends nothing, and another algorithm is refused.
func TestLendUnderAnotherLimit(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	ask(s, epoch, lend("a", slow, 10, 1, 0, 0))
	if res := ask(s, epoch, lend("a", bucket(1000, 1, sec), 10, 2, 1, 4)); res.Granted != 0 || res.Lent != 4 || res.Limit != 100 || res.Remaining != 90 {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch, lend("a", limits.Limit{Algorithm: limits.GCRA, Capacity: 100, Rate: slow.Rate}, 10, 3, 2, 4)); res.Status != engine.WrongType {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: bucket(50, 1, sec), Tokens: 41}); res.Allowed {
		t.Errorf("4 of 50 are lent and 6 taken: %+v", res)
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: bucket(50, 1, sec), Tokens: 40}); !res.Allowed || res.Remaining != 0 {
		t.Errorf("%+v", res)
	}
	if look := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("k")}); look.Lent != 4 || look.Held.Capacity != 50 {
		t.Errorf("%+v", look)
	}
}

// A denial's wait counts lent tokens like tokens spent now. It is not NeverWait: they may come back.
func TestWaitBesideLoans(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	limit := bucket(100, 1, sec)
	ask(s, epoch, lend("a", limit, 12, 1, 0, 0))
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 95}); res.Allowed || res.Wait != 7*sec {
		t.Errorf("%+v", res)
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: 101}); res.Wait != engine.NeverWait {
		t.Errorf("%+v", res)
	}
	for tokens, want := range map[int64]int64{5: 12 * sec, 6: engine.NeverWait} { // more is lent than may be taken at all
		if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: limit, Tokens: tokens, Keep: engine.KeepTokens(95)}); res.Allowed || res.Wait != want {
			t.Errorf("%d tokens, 95 of 100 kept: %+v", tokens, res)
		}
	}
	if res := ask(s, epoch, engine.Op{Key: []byte("k"), Limit: bucket(10, 1, sec), Tokens: 5}); res.Allowed || res.Wait != 7*sec {
		t.Errorf("of 10: %+v", res)
	}
}

// Snapshots, loading and replicas carry loans.
func TestLoansAreState(t *testing.T) {
	s, loaded := New(Config{Shards: 4}), New(Config{Shards: 1})
	defer s.Close()
	defer loaded.Close()
	ask(s, epoch, engine.Op{Key: []byte("k"), Limit: slow, Tokens: 20})
	ask(s, epoch, lend("a", slow, 10, 1, 0, 0))
	short := lend("b", slow, 5, 2, 0, 0)
	short.MaxWait = sec
	ask(s, epoch, short)
	f := s.Snapshot()
	ask(s, epoch, engine.Op{Verb: engine.Void, Key: []byte("k"), Who: []byte("a"), Options: engine.Force})
	f.Scan(epoch, func(e keyspace.Entry) {
		if err := loaded.Load(epoch, e); err != nil {
			t.Error(err)
		}
	})
	f.Release()
	for _, at := range []int64{epoch, epoch + 2*sec} {
		res := ask(loaded, at, engine.Op{Verb: engine.Look, Key: []byte("k")})
		if want := map[bool]int64{true: 15, false: 10}[at == epoch]; res.Lent != want || res.Remaining != 65 {
			t.Errorf("%+v", res)
		}
	}
	if keys := loaded.LentKeys(); keys != 1 {
		t.Errorf("%d keys", keys)
	}
	if s.Digest(epoch) == loaded.Digest(epoch) {
		t.Error("a void does not show in the digest")
	}
	ask(loaded, epoch, engine.Op{Verb: engine.Void, Key: []byte("k"), Who: []byte("a"), Options: engine.Force})
	if s.Digest(epoch) != loaded.Digest(epoch) {
		t.Error("equal states have different digests")
	}
}

// A loan in place of an expired one is kept like that of a new key, because the expired one may have been dropped
// elsewhere.
func TestLoanInPlaceOfAnExpiredOne(t *testing.T) {
	var usage [2]int64
	for i := range usage {
		s := New(Config{Shards: 1})
		long := lend("a holder with a longer name", slow, 10, 1, 0, 0)
		long.MaxWait = sec
		ask(s, epoch, long)
		later := epoch + 1000*3600*sec
		if i == 1 {
			s.Sweep(later, 100)
		}
		ask(s, later, lend("a", slow, 10, 1, 0, 0))
		usage[i] = ask(s, later, engine.Op{Verb: engine.Look, Key: []byte("k")}).Bytes
		s.Close()
	}
	if usage[0] != usage[1] {
		t.Errorf("%d bytes, and %d if the expired one was dropped", usage[0], usage[1])
	}
}

// Keys that hold something else have no loans.
func TestLoansOfOtherKeys(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	key := []byte("k")
	for _, limit := range []limits.Limit{{Algorithm: limits.Concurrency, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: sec}}, {Algorithm: limits.SlidingLog, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: sec}},
		{Algorithm: limits.SlidingWindow, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: sec}}, {Algorithm: limits.LeakyQueue, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: sec}}} {
		ask(s, epoch, engine.Op{Verb: engine.Delete, Key: key})
		ask(s, epoch, engine.Op{Key: key, Who: key, Limit: limit, Tokens: 1})
		for _, op := range []engine.Op{giveBack("a", 1, 0, 0), {Verb: engine.Void, Key: key, Who: key, Options: engine.Force}, {Verb: engine.Loans, Key: key}} {
			if res := ask(s, epoch, op); loanAnswer(res) != [5]int64{} || len(res.Reply) > 0 || res.Status != engine.OK {
				t.Errorf("%v: %+v", limit.Algorithm, res)
			}
		}
		if res := ask(s, epoch, lend("a", slow, 1, 1, 0, 0)); res.Status != engine.WrongType {
			t.Errorf("%v: %+v", limit.Algorithm, res)
		}
	}
}

// A malformed state of loans is refused.
func TestInvalidLoansAreRefused(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	ask(s, epoch, lend("a", slow, 10, 1, 0, 0))
	var entry keyspace.Entry
	s.Dump(epoch, func(e keyspace.Entry) { entry = e })
	s.Scan(0, 10, epoch, func(e keyspace.Entry) {
		entry.State = bytes.Clone(e.State)
	})
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 500 {
		e := keyspace.Entry{Key: entry.Key, Limit: entry.Limit, State: bytes.Clone(entry.State)}
		for range 1 + r.IntN(3) {
			e.State[r.IntN(len(e.State))] ^= byte(1 + r.IntN(255))
		}
		other := New(Config{Shards: 1})
		if other.Load(epoch, e) != nil {
			refused++
		} else { // it must not mislead
			ask(other, epoch, lend("a", slow, 10, 2, 1, 1))
			ask(other, epoch+sec, engine.Op{Key: []byte("k"), Limit: slow, Tokens: 1})
			ask(other, epoch+sec, engine.Op{Verb: engine.Flush})
		}
		other.Close()
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
