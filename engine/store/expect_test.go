package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// fingerprint is that of a key, and nil if the key does not exist.
func fingerprint(s *Store, now int64, key []byte) []byte {
	res := ask(s, now, engine.Op{Verb: engine.Fingerprint, Key: key})
	if bytes.Equal(res.Reply, make([]byte, engine.FingerprintBytes)) {
		return nil
	}
	return bytes.Clone(res.Reply)
}

// expecting is the operation that expects keys to be as they are.
func expecting(s *Store, now int64, keys ...[]byte) engine.Op {
	op := engine.Op{Verb: engine.Expect, Args: keys, KeyCount: uint32(len(keys))}
	for _, key := range keys {
		op.Who = append(op.Who, ask(s, now, engine.Op{Verb: engine.Fingerprint, Key: key}).Reply...)
	}
	return op
}

// Stores of different shards, seeds and histories of memory that carry out the same operations have the same
// fingerprints, and so has a store that begins with a copy of their states. A fingerprint changes exactly if the dumped
// state does.
func TestFingerprintsAreEqualOnReplicas(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 8))
		a, b := New(Config{Shards: 4, Replicated: true, Commands: txSteps{}}), New(Config{Shards: 64, Replicated: true, Commands: txSteps{}})
		now := epoch
		known := map[string][2]string{} // of a key: state and fingerprint
		for i := range 3000 {
			now += r.Int64N(sec / 20)
			op := randomPart(r)
			op.Key = fmt.Appendf(op.Key, "-%d", r.IntN(20))
			switch r.IntN(12) {
			case 0, 1, 2:
				op = stepCommand(r)
			case 3:
				op = engine.Op{Verb: engine.Delete, Key: op.Key}
			case 4:
				op = engine.Op{Verb: engine.Refund, Key: op.Key, Tokens: op.Tokens}
			case 5:
				b.Sweep(now, 50) // a has lingering keys
			}
			ask(a, now, op)
			ask(b, now, op)
			if i%100 != 0 {
				continue
			}
			c, found := New(Config{Shards: 1, Replicated: true, Commands: txSteps{}}), map[string]bool{}
			a.Scan(0, 1<<30, now, func(e keyspace.Entry) {
				if err := c.Load(now, e); err != nil {
					t.Fatal(err)
				}
			})
			a.Dump(now, func(e keyspace.Entry) {
				sum := fingerprint(a, now, e.Key)
				if sum == nil || !bytes.Equal(sum, fingerprint(b, now, e.Key)) || !bytes.Equal(sum, fingerprint(c, now, e.Key)) {
					t.Fatalf("seed %d: %s has the fingerprints %x, %x and %x", seed, e.Key, sum, fingerprint(b, now, e.Key), fingerprint(c, now, e.Key))
				}
				state := fmt.Sprintf("%+v %x", e.Limit, e.State)
				if was, has := known[string(e.Key)]; has && (was[0] == state) != (was[1] == string(sum)) {
					t.Fatalf("seed %d: %s changed from %s to %s, and its fingerprint from %x to %x", seed, e.Key, was[0], state, was[1], sum)
				}
				known[string(e.Key)], found[string(e.Key)] = [2]string{state, string(sum)}, true
			})
			for key := range known {
				if !found[key] && (fingerprint(a, now, []byte(key)) != nil || fingerprint(b, now, []byte(key)) != nil) {
					t.Fatalf("seed %d: %s is gone, and has a fingerprint", seed, key)
				}
			}
		}
	}
}

// A batch whose Expect fails changes nothing and notes nothing for the journal.
func TestExpect(t *testing.T) {
	for _, replicated := range []bool{false, true} {
		s := New(Config{Shards: 4, Replicated: replicated, Commands: txSteps{}})
		s.Track(true)
		limit := bucket(10, 1, sec)
		take := func(key string) engine.Op {
			return engine.Op{Verb: engine.Acquire, Key: []byte(key), Limit: limit, Tokens: 1}
		}
		batch := func(now int64, ops ...engine.Op) []engine.Result {
			results := make([]engine.Result, len(ops))
			s.ApplyAtomic(now, ops, results)
			return results
		}
		keys := [][]byte{[]byte("a"), []byte("b"), []byte("none")}
		ask(s, epoch, take("a"))
		ask(s, epoch, take("b"))
		for i, change := range []engine.Op{{}, take("a"), take("b"), take("none"), {Verb: engine.Delete, Key: []byte("b")}, {Verb: engine.Flush}} {
			expect := expecting(s, epoch, keys...)
			if i > 0 {
				ask(s, epoch, change)
			}
			s.Changes(epoch, func(keyspace.Change) {})
			before := s.Digest(epoch)
			results := batch(epoch, expect, take("c"), take("a"))
			if i == 0 {
				if results[0].Status != engine.OK || !results[1].Allowed || !results[2].Allowed {
					t.Errorf("nothing has changed: %+v", results)
				}
				continue
			}
			for j, res := range results {
				if res.Status != engine.KeyChanged || res.Allowed || res.Granted != 0 {
					t.Errorf("after change %d: result %d is %+v", i, j, res)
				}
			}
			if after := s.Digest(epoch); after != before || s.HasChanges() {
				t.Errorf("after change %d: the batch has an effect", i)
			}
		}
		// A key that expires has changed, and one that had expired has not, whether it lingers or not.
		ask(s, epoch, take("a"))
		expect := expecting(s, epoch, keys[0])
		if res := batch(epoch+sec-1, expect); res[0].Status != engine.OK {
			t.Errorf("before it expires: %+v", res)
		}
		if res := batch(epoch+sec, expect); res[0].Status != engine.KeyChanged {
			t.Errorf("when it has expired: %+v", res)
		}
		expect = expecting(s, epoch+sec, keys[0])
		s.Sweep(epoch+5*sec, 1<<20)
		if res := batch(epoch+5*sec, expect); res[0].Status != engine.OK {
			t.Errorf("once it is swept: %+v", res)
		}
		// Alone it answers the same, also read-only, and without locks held.
		ask(s, epoch+5*sec, take("a"))
		var res engine.Result
		if done := s.TryReadOnly(epoch+5*sec, &expect, &res); !done || res.Status != engine.KeyChanged || ask(s, epoch+5*sec, expect).Status != engine.KeyChanged {
			t.Errorf("alone: %v, %+v", done, res)
		}
	}
}

// Changes of policies in one atomic batch come together: none of another batch is in between, and none is done if the
// policies are not those that it expects.
func TestPoliciesChangeTogether(t *testing.T) {
	s := New(Config{Shards: 4})
	defer s.Close()
	set := func(name string, capacity int64) engine.Op {
		part := engine.Op{Key: []byte("{}"), Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: sec}}}
		return engine.Op{Verb: engine.SetPolicy, Key: []byte(name), Parts: []engine.Op{part}}
	}
	var made atomic.Int64
	var all sync.WaitGroup
	for worker := range int64(4) {
		all.Go(func() {
			for i := range int64(500) {
				seen, n := s.PoliciesSum(), 1+worker*500+i
				results := make([]engine.Result, 3)
				s.ApplyAtomic(epoch, []engine.Op{engine.ExpectPolicies(seen), set("p", n), set("q", n)}, results)
				if results[2].Status == engine.OK {
					made.Add(1)
				}
				s.ApplyAtomic(epoch, []engine.Op{set("r", n), set("s", n)}, results[:2])
			}
		})
	}
	all.Wait()
	capacity := func(name string) int64 {
		p, _ := s.Policy(name)
		return p.Parts[0].Limit.Capacity
	}
	if capacity("p") != capacity("q") || capacity("r") != capacity("s") {
		t.Errorf("policies of two batches: %d %d %d %d", capacity("p"), capacity("q"), capacity("r"), capacity("s"))
	}
	if made.Load() == 0 {
		t.Error("no batch was carried out: this test shows nothing")
	}
}
