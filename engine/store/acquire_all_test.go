package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// contents lists everything a store holds at a time, for comparison.
func contents(s *Store, now int64) map[string]string {
	all := map[string]string{}
	for cursor := uint64(0); ; {
		cursor = s.Scan(cursor, 100, now, func(e keyspace.Entry) { all[string(e.Key)] = fmt.Sprintf("%v %x", e.Limit, e.State) })
		if cursor == 0 {
			return all
		}
	}
}

// randomPart is a limit of any algorithm on one of a few keys, each of which belongs to one algorithm.
func randomPart(r *rand.Rand) engine.Op {
	n := r.IntN(12)
	algorithm := []limits.Algorithm{limits.GCRA, limits.TokenBucket, limits.LeakyBucket, limits.FixedWindow, limits.SlidingWindow, limits.SlidingLog, limits.Concurrency}[n%7]
	l := limits.Limit{Algorithm: algorithm, Capacity: 3 + int64(n), Rate: limits.Rate{Tokens: 0, Period: sec}}
	if algorithm <= limits.LeakyBucket {
		l.Rate.Tokens = 5
	}
	return engine.Op{Key: fmt.Appendf(nil, "key-%d", n), Limit: l, Who: fmt.Appendf(nil, "w%d", r.IntN(8)), Tokens: 1 + r.Int64N(3)}
}

// One request for several limits takes from all of them exactly what single requests would, or nothing at all.
func TestAllOrNothing(t *testing.T) {
	denied, granted := 0, 0
	for seed := range uint64(testsize.Pick(50, 200)) {
		r := rand.New(rand.NewPCG(seed, 3))
		together, single := New(Config{Shards: 2}), New(Config{Shards: 2})
		now := epoch
		for i := range 200 {
			now += r.Int64N(sec / 5)
			parts, used := []engine.Op{}, map[string]bool{}
			tokens := 1 + r.Int64N(3)
			for range 1 + r.IntN(5) {
				if p := randomPart(r); !used[string(p.Key)] {
					used[string(p.Key)] = true
					p.Tokens = tokens
					if r.IntN(3) == 0 { // another amount
						p.Options, p.Tokens = engine.FixedCost, r.Int64N(4)
					}
					if r.IntN(3) == 0 && p.Limit.Algorithm.Keeps() {
						p.Keep = []engine.Keep{engine.KeepTokens(r.Int64N(p.Limit.Capacity + 2)), engine.KeepPercent(r.Int64N(engine.MaxKeepPercent + 1))}[r.IntN(2)]
					}
					parts = append(parts, p)
				}
			}
			fits, longest, binding := true, int64(-1), -1
			for j, p := range parts {
				if p.AsksNothing() {
					continue
				}
				p.Options = engine.Peek
				res := ask(single, now, p)
				if res.Allowed {
					continue
				}
				wait := res.Wait
				if wait == engine.NeverWait {
					wait = 1 << 62
				}
				if fits = false; wait > longest {
					longest, binding = wait, j
				}
			}
			before := contents(together, now)
			res := ask(together, now, engine.Op{Verb: engine.AcquireAll, Parts: parts})
			if res.Allowed != fits || res.Binding != binding || res.Status != engine.OK {
				t.Fatalf("seed %d step %d: %+v, want allowed=%v binding=%d", seed, i, res, fits, binding)
			}
			if !fits {
				denied++
				if after := contents(together, now); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Fatalf("seed %d step %d: a denial changed\n%v to\n%v", seed, i, before, after)
				}
			}
			for j, p := range parts {
				if fits && !p.AsksNothing() {
					granted++
					p.Options = 0
					ask(single, now, p)
				}
				want := ask(single, now, engine.Op{Verb: engine.Look, Key: p.Key})
				if want.Status == engine.NotFound {
					want.Remaining = p.Limit.Capacity
				}
				if got := res.Parts[j]; got.Remaining != want.Remaining || got.Reset != want.Reset {
					t.Fatalf("seed %d step %d part %d: %+v, want %+v", seed, i, j, got, want)
				}
			}
		}
		together.Close()
		single.Close()
	}
	if denied < 1000 || granted < 1000 {
		t.Errorf("%d denied and %d granted: the traffic tries too little", denied, granted)
	}
}

// Requests for overlapping limits from many goroutines never deadlock, and none is granted more than it has.
func TestAllOrNothingConcurrently(t *testing.T) {
	s := New(Config{Shards: 8})
	defer s.Close()
	const keys, capacity = 20, 100
	var taken [keys]atomic.Int64
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 4))
			for range 1000 {
				perm := r.Perm(keys)[:1+r.IntN(4)]
				parts := []engine.Op{}
				for _, k := range perm {
					parts = append(parts, engine.Op{Key: keyOf(k), Limit: bucket(capacity, 1, 3600*sec), Tokens: 1})
				}
				results := make([]engine.Result, 2)
				ops := []engine.Op{{Verb: engine.AcquireAll, Parts: parts}, {Key: keyOf(perm[0]), Limit: bucket(capacity, 1, 3600*sec), Tokens: 1}}
				if r.IntN(5) == 0 {
					s.ApplyAtomic(epoch, ops, results)
				} else {
					s.Apply(epoch, ops, results)
				}
				if results[0].Allowed {
					for _, k := range perm {
						taken[k].Add(1)
					}
				}
				taken[perm[0]].Add(results[1].Granted)
			}
		})
	}
	wg.Wait()
	for k := range taken {
		res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: keyOf(k)})
		if n := taken[k].Load(); n > capacity || res.Remaining != capacity-n {
			t.Errorf("key %d: %d granted, %d remaining of %d", k, n, res.Remaining, capacity)
		}
	}
}

func TestGroupErrors(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	tb := engine.Op{Key: []byte("a"), Limit: bucket(5, 1, sec), Tokens: 1}
	fw := engine.Op{Key: []byte("b"), Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 1}
	if res := ask(s, epoch, engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{tb, fw, tb}}); res.Status != engine.DuplicateKey {
		t.Errorf("the same key twice: %+v", res)
	}
	ask(s, epoch, fw)
	wrong := tb
	wrong.Key = []byte("b")
	other := tb
	if res := ask(s, epoch, engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{other, wrong}}); res.Status != engine.WrongType || res.Binding != 1 || res.Held.Algorithm != limits.FixedWindow {
		t.Errorf("another algorithm's key: %+v", res)
	}
	if res := ask(s, epoch, engine.Op{Verb: engine.Look, Key: []byte("a")}); res.Status != engine.NotFound {
		t.Errorf("an error took tokens: %+v", res)
	}
}

// A request for several new keys that don't all fit the memory bound takes nothing.
func TestGroupWithoutRoomTakesNothing(t *testing.T) {
	s := New(Config{Shards: 1, MaxBytes: 16 << 10})
	defer s.Close()
	refused := 0
	for i := range 2000 {
		parts := []engine.Op{}
		for j := range 5 {
			parts = append(parts, engine.Op{Key: keyOf(i*5 + j), Limit: bucket(5, 1, 3600*sec), Tokens: 1})
		}
		before := s.Len()
		res := ask(s, epoch, engine.Op{Verb: engine.AcquireAll, Parts: parts})
		switch after := s.Len(); {
		case res.Status == engine.OutOfRoom && after == before:
			refused++
		case res.Status == engine.OK && after == before+5:
		default:
			t.Fatalf("%+v; %d keys became %d", res, before, after)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	checkTables(t, s)
}

func TestPolicies(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	name := []byte("api")
	parts := []engine.Op{
		{Key: []byte("user:{}"), Limit: bucket(2, 1, 3600*sec)},
		{Key: []byte("all"), Limit: bucket(5, 1, 3600*sec)},
	}
	check := func(id string) engine.Result {
		res := ask(s, epoch, engine.Op{Verb: engine.Check, Key: name, Who: []byte(id), Tokens: 1})
		s.CountCheck(name, &res)
		return res
	}
	if res := check("a"); res.Status != engine.NotFound {
		t.Fatalf("a policy that is not there: %+v", res)
	}
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: name, Parts: parts})
	steps := []struct {
		id      string
		allowed bool
		binding int
		own     int64
		all     int64
	}{
		{"a", true, -1, 1, 4}, {"a", true, -1, 0, 3}, {"a", false, 0, 0, 3}, {"b", true, -1, 1, 2}, {"c", true, -1, 1, 1},
		{"d", true, -1, 1, 0}, {"e", false, 1, 2, 0},
	}
	for i, step := range steps {
		res := check(step.id)
		if res.Allowed != step.allowed || res.Binding != step.binding || res.Parts[0].Remaining != step.own || res.Parts[1].Remaining != step.all {
			t.Errorf("check %d: %+v", i, res)
		}
	}
	parts[1].Limit = bucket(50, 1, 3600*sec)
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: name, Parts: parts})
	if res := check("e"); !res.Allowed || res.Parts[1].Remaining != 44 {
		t.Errorf("after raising a limit what was taken must carry over: %+v", res)
	}
	ask(s, epoch, engine.Op{Verb: engine.SetOverride, Key: name, Who: []byte("a"), Parts: []engine.Op{{Key: []byte("user:{}"), Limit: bucket(10, 1, 3600*sec)}}})
	for id, want := range map[string]bool{"a": true, "b": false} {
		if p, _ := s.PolicyOf(string(name), []byte(id)); p.IsOwn != want {
			t.Errorf("%s has limits of its own: %v", id, p.IsOwn)
		}
	}
	if res := check("a"); !res.Allowed || len(res.Parts) != 1 || res.Parts[0].Remaining != 7 {
		t.Errorf("with an override: %+v", res)
	}
	ask(s, epoch, engine.Op{Verb: engine.SetOverride, Key: name, Who: []byte("a")})
	if res := check("a"); res.Allowed {
		t.Errorf("after the override: %+v", res)
	}
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: name, Parts: parts, Options: engine.Shadow})
	if res := check("a"); !res.Allowed || res.Binding != 0 || res.Granted != 1 {
		t.Errorf("in shadow: %+v", res)
	}
	p, _ := s.Policy("api")
	if p.Granted != 7 || p.Denied != 3 || p.ShadowDenied != 1 || !p.Shadow {
		t.Errorf("counted %+v", p)
	}
	ask(s, epoch, engine.Op{Verb: engine.DropPolicy, Key: name})
	if res := check("a"); res.Status != engine.NotFound || len(s.PolicyNames()) != 0 {
		t.Errorf("after it was dropped: %+v", res)
	}
}
