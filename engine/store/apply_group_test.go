package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// A batch decides as its operations do one by one, whichever keys come twice, are new, expire or are deleted on the
// way.
func TestBatchesDecideAsSingleOperations(t *testing.T) {
	for _, shards := range []int{1, 4, 1024} {
		r := rand.New(rand.NewPCG(22, uint64(shards)))
		batched, single, now := New(Config{Shards: shards}), New(Config{Shards: shards}), epoch
		denied := 0
		for i := range 3000 {
			now += r.Int64N(2 * sec)
			ops := make([]engine.Op, 1+r.IntN(20))
			for j := range ops {
				ops[j] = engine.Op{Key: fmt.Append(nil, "key", r.IntN(30)), Limit: bucket(1+r.Int64N(2), 3, sec), Tokens: 1 + r.Int64N(2)}
				switch r.IntN(12) {
				case 0:
					ops[j].Verb = engine.Delete
				case 1:
					ops[j].Limit = limits.Limit{Algorithm: limits.SlidingLog, Capacity: 3, Rate: limits.Rate{Tokens: 0, Period: sec}}
				case 2:
					ops[j] = severalOf(1, engine.Op{Key: ops[j].Key, Limit: bucket(2, 3, sec)}, engine.Op{Key: []byte("all"), Limit: bucket(9, 9, sec)})
				}
			}
			results, want := make([]engine.Result, len(ops)), make([]engine.Result, len(ops))
			batched.Apply(now, ops, results)
			for j := range ops {
				single.Apply(now, ops[j:j+1], want[j:j+1])
				if got := &results[j]; got.Status != want[j].Status || got.Granted != want[j].Granted || got.Wait != want[j].Wait || got.Remaining != want[j].Remaining {
					t.Fatalf("%d shards, batch %d, operation %d %+v: %+v, want %+v", shards, i, j, ops[j], *got, want[j])
				}
				if want[j].Status == engine.OK && !want[j].Allowed {
					denied++
				}
			}
			if i%100 == 0 && batched.Digest(now) != single.Digest(now) {
				t.Fatalf("%d shards, batch %d: the states differ", shards, i)
			}
		}
		if denied < 100 {
			t.Errorf("%d shards: %d denied", shards, denied)
		}
		batched.Close()
		single.Close()
	}
}

// So do requests for several limits, with errors and policies in shadow among them.
func TestBatchedRequestsDecideAsSingleOnes(t *testing.T) {
	for _, shards := range []int{1, 4, 1024} {
		r := rand.New(rand.NewPCG(23, uint64(shards)))
		batched, single, now := New(Config{Shards: shards}), New(Config{Shards: shards}), epoch
		for name, options := range map[string]engine.Option{"api": 0, "trial": engine.Shadow} {
			policy := engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Options: options, Parts: []engine.Op{
				{Key: []byte("user:{}"), Limit: bucket(2, 3, sec)}, {Key: []byte("all"), Limit: bucket(9, 9, sec)}}}
			ask(batched, epoch, policy)
			ask(single, epoch, policy)
		}
		statuses := map[engine.Status]int{}
		denied := 0
		for i := range testsize.Pick(1000, 2000) {
			now += r.Int64N(sec)
			ops := make([]engine.Op, 1+r.IntN(20))
			for j := range ops {
				key := func() []byte { return fmt.Append(nil, "key", r.IntN(30)) }
				ops[j] = severalOf(1+r.Int64N(2), engine.Op{Key: key(), Limit: bucket(2, 3, sec)}, engine.Op{Key: key(), Limit: bucket(3, 3, sec)}) // some twice the same
				switch r.IntN(8) {
				case 0, 1, 2:
					ops[j] = engine.Op{Verb: engine.Check, Key: []byte([]string{"api", "trial", "none"}[r.IntN(3)]), Who: key(), Tokens: 1}
				case 3:
					ops[j] = engine.Op{Key: key(), Limit: bucket(2, 3, sec), Tokens: 1}
				case 4:
					var many []engine.Op
					for k := range 5 + r.IntN(20) {
						many = append(many, engine.Op{Key: fmt.Append(nil, "key", k), Limit: bucket(5, 5, sec)})
					}
					ops[j] = severalOf(1, many...)
				}
			}
			want := sameAnswers(t, batched, single, now, ops)
			for j := range want {
				if statuses[want[j].Status]++; want[j].Status == engine.OK && !want[j].Allowed {
					denied++
				}
			}
			if i%100 == 0 && batched.Digest(now) != single.Digest(now) {
				t.Fatalf("%d shards, batch %d: the states differ", shards, i)
			}
		}
		if denied < 100 || statuses[engine.NotFound] < 100 || statuses[engine.DuplicateKey] < 100 {
			t.Errorf("%d shards: %d denied, %v", shards, denied, statuses)
		}
		for _, name := range []string{"api", "trial"} {
			got, _ := batched.Policy(name)
			if want, _ := single.Policy(name); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d shards: %+v, want %+v", shards, got, want)
			}
		}
		batched.Close()
		single.Close()
	}
}

// sameAnswers carries out operations as a batch in one store and one by one in another. The answers must be the same.
func sameAnswers(t *testing.T, batched, single *Store, now int64, ops []engine.Op) (want []engine.Result) {
	t.Helper()
	got, want := make([]engine.Result, len(ops)), make([]engine.Result, len(ops))
	batched.Apply(now, ops, got)
	for i := range ops {
		single.Apply(now, ops[i:i+1], want[i:i+1])
		for _, parts := range [][]engine.Result{got[i].Parts, want[i].Parts} {
			for j := range parts {
				parts[j].Work = 0 // leases are read again if their record has moved to make room, which depends on the hashes
			}
		}
		if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			t.Fatalf("at %d, operation %d %+v: %+v, want %+v", now, i, ops[i], got[i], want[i])
		}
	}
	return want
}

// So do reservations, extensions and settlements, of ids that the same batch may have made or that are keys of limits, of
// limits with one key, of leases, and of a policy that changes.
func TestBatchedReservationsDecideAsSingleOnes(t *testing.T) {
	for _, shards := range []int{1, 4, 1024} {
		r := rand.New(rand.NewPCG(24, uint64(shards)))
		batched, single, now := New(Config{Shards: shards}), New(Config{Shards: shards}), epoch
		lease := limits.Limit{Algorithm: limits.Concurrency, Capacity: 20, Rate: limits.Rate{Period: 3 * sec}}
		statuses := map[engine.Status]int{}
		for i := range testsize.Pick(1000, 2000) {
			now += r.Int64N(sec)
			if i%10 == 0 {
				policy := engine.Op{Verb: engine.SetPolicy, Key: []byte("api"), Parts: []engine.Op{{Key: fmt.Append(nil, "user", r.IntN(2), ":{}"), Limit: bucket(9, 3, sec)}}}
				ask(batched, now, policy)
				ask(single, now, policy)
			}
			ops := make([]engine.Op, 1+r.IntN(20))
			for j := range ops {
				id, key := fmt.Sprint("id", r.IntN(40)), func() []byte { return fmt.Append(nil, "key", r.IntN(20)) }
				switch r.IntN(11) {
				case 0:
					ops[j] = engine.Op{Key: key(), Limit: bucket(9, 3, sec), Tokens: 1}
				case 1:
					ops[j] = engine.Op{Verb: engine.Extend, Key: []byte(id), Nth: 1, Tokens: 1}
				case 2, 3:
					ops[j] = settleAt(id, r.Int64N(4))
				case 4:
					ops[j] = reserveOne(id, engine.Op{Verb: engine.Check, Key: []byte("api"), Who: []byte(id), Tokens: 1})
				case 5:
					ops[j] = reserveOne(id, engine.Op{Key: key(), Limit: bucket(9, 3, sec), Tokens: 2})
				case 6:
					ops[j] = reserveOne(id, severalOf(1, engine.Op{Key: key(), Limit: bucket(9, 3, sec)}, engine.Op{Key: fmt.Append(nil, "run", r.IntN(2)), Limit: lease, Who: []byte(id)}))
				case 7:
					ops[j] = reserveOne(id, severalOf(1, engine.Op{Key: fmt.Append(nil, "id", r.IntN(40)), Limit: bucket(9, 3, sec)}))
				default:
					ops[j] = reserveOne(id, severalOf(1+r.Int64N(2), engine.Op{Key: key(), Limit: bucket(9, 3, sec)}, engine.Op{Key: key(), Limit: bucket(9, 9, sec)}))
				}
				ops[j].MaxWait = min(ops[j].MaxWait, 5*sec)
			}
			want := sameAnswers(t, batched, single, now, ops)
			for j := range want {
				statuses[want[j].Status]++
			}
			if i%100 == 0 && batched.Digest(now) != single.Digest(now) {
				t.Fatalf("%d shards, batch %d: the states differ", shards, i)
			}
		}
		for _, s := range []engine.Status{engine.OK, engine.NotFound, engine.ReservationDiffers, engine.SettledOtherwise, engine.AlreadySettled, engine.DuplicateKey} {
			if statuses[s] < 100 {
				t.Errorf("%d shards: %v", shards, statuses)
			}
		}
		batched.Close()
		single.Close()
	}
}

// Many goroutines send requests that share keys, in batches, and settle those with ids. Nobody waits for another for ever, and no token is granted
// twice.
func TestBatchedRequestsOfManyGoroutines(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	const goroutines, batches, size, tokens = 8, 300, 9, 5000
	var granted atomic.Int64
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(24, uint64(g)))
			for i := range batches {
				ops, results := make([]engine.Op, size), make([]engine.Result, size)
				for j := range ops {
					own := fmt.Append(nil, "key", r.IntN(10))
					ops[j] = severalOf(1, engine.Op{Key: own, Limit: bucket(1_000_000, 1, sec)}, engine.Op{Key: []byte("all"), Limit: bucket(tokens, 1, 1_000_000*sec)})
					switch id := fmt.Sprint("id", g, " ", i*size+j); j % 3 {
					case 1:
						ops[j] = reserveOne(id, ops[j])
					case 2:
						ops[j] = settleAt(fmt.Sprint("id", g, " ", (i-1)*size+j-1), 1)
					}
				}
				s.Apply(epoch, ops, results)
				for j := range results {
					granted.Add(results[j].Granted)
				}
			}
		})
	}
	wait.Wait()
	if granted.Load() != tokens {
		t.Errorf("%d granted, want %d", granted.Load(), tokens)
	}
}
