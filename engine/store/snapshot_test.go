package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// snapshotContents is contents of a snapshot. between is called between entries.
func snapshotContents(f *Snapshot, now int64, between func()) map[string]string {
	all := map[string]string{}
	f.Scan(now, func(e keyspace.Entry) {
		all[string(e.Key)] = fmt.Sprintf("%v %x", e.Limit, e.State)
		between()
	})
	return all
}

// wideStep is randomStep with many more keys, so that shards grow, are compacted and shrink.
func wideStep(r *rand.Rand, keys int) engine.Op {
	op := randomStep(r)
	rename := func(p *engine.Op) {
		if len(p.Key) > 0 && op.Verb != engine.Check && op.Verb != engine.SetPolicy && op.Verb != engine.SetOverride && op.Verb != engine.DropPolicy {
			p.Key = fmt.Appendf(p.Key, "-%d", r.IntN(keys))
		}
	}
	rename(&op)
	for i := range op.Parts {
		rename(&op.Parts[i])
	}
	return op
}

// heldLimits is the memory of the limits that may be held back for a snapshot: these histories have fewer than 120.
const heldLimits = 120 * 128

// With any operations between the entries of a scan, a snapshot shows the store as it was at its time: to the last
// byte, policies included. Afterwards no copies are left.
func TestSnapshotIsTheStoreAsItWas(t *testing.T) {
	flushes, changed := 0, 0
	for seed := range uint64(testsize.Pick(16, 64)) {
		r := rand.New(rand.NewPCG(seed, 13))
		s := New(Config{Shards: 1 << r.IntN(5), Commands: txSteps{}})
		s.Track(r.IntN(2) == 0)
		keys := 1 + r.IntN(60)
		now := epoch
		results := make([]engine.Result, 2)
		largest := int64(0) // the store, limits that may be held back included
		step := func() {
			largest = max(largest, s.Bytes()+heldLimits)
			if now += r.Int64N(sec / 20); r.IntN(100) == 0 {
				now += 10 * sec
			}
			op := wideStep(r, keys)
			if op.Verb == engine.Flush {
				flushes++
			}
			switch r.IntN(12) {
			case 0:
				s.ApplyAtomic(now, []engine.Op{op, wideStep(r, keys)}, results)
			case 1:
				s.Sweep(now, r.IntN(500))
			case 2:
				s.TryReadOnly(now, &op, &results[0])
			case 3:
				s.Changes(now, func(keyspace.Change) {})
			case 4:
				if key := fmt.Appendf(nil, "loaded-%d", r.IntN(5)); r.IntN(2) == 0 {
					s.Unload(key)
				} else if err := s.Load(now, keyspace.Entry{Key: key, Limit: bucket(5, 1, sec), State: binary.LittleEndian.AppendUint64(nil, uint64(now+sec))}); err != nil {
					t.Fatal(err)
				}
			case 5:
				if r.IntN(50) == 0 {
					s.Reserve(r.IntN(1000), r.IntN(10_000))
				}
				if r.IntN(300) == 0 {
					s.Clear()
				}
			default:
				s.Apply(now, []engine.Op{op}, results[:1])
			}
		}
		for range 6 {
			for range r.IntN(2000) {
				step()
			}
			at, want, policies, keys := now, contents(s, now), policyText(s), s.Len()
			largest = 0
			f := s.Snapshot()
			if s.SnapshotBytes() != 0 || f.Len() != keys {
				t.Fatalf("seed %d: %d bytes copied by Freeze, %d keys of %d", seed, s.SnapshotBytes(), f.Len(), keys)
			}
			for range r.IntN(300) {
				step()
			}
			policiesFirst, got := r.IntN(2) == 0, ""
			f2 := func() { f.PolicyOps(func(op *engine.Op) { got += fmt.Sprintf("%x\n", appendOp(nil, op)) }) }
			if policiesFirst {
				f2()
			}
			seen := snapshotContents(f, at, func() {
				for range r.IntN(12) {
					step()
				}
				if n := s.SnapshotBytes(); n < 0 || n > 2*largest+int64(s.Shards())*256 {
					t.Fatalf("seed %d: %d bytes copied of %d", seed, n, largest)
				}
			})
			if !policiesFirst {
				f2()
			}
			if fmt.Sprint(seen) != fmt.Sprint(want) || got != policies {
				t.Fatalf("seed %d: frozen\n%v\n%s\nwas\n%v\n%s", seed, seen, got, want, policies)
			}
			if fmt.Sprint(contents(s, now)) != fmt.Sprint(want) {
				changed++
			}
			f.Release()
			f.Release()
			if s.SnapshotBytes() != 0 {
				t.Fatalf("seed %d: %d bytes left of the copies", seed, s.SnapshotBytes())
			}
			checkTables(t, s)
		}
		s.Close()
	}
	if flushes < 10 || changed < 50 {
		t.Errorf("%d flushes, changed %d times: too little was tried", flushes, changed)
	}
}

// Operations without changes copy nothing, and a snapshot released without a scan leaves nothing.
func TestSnapshotCopiesOnlyChangedRecords(t *testing.T) {
	s := New(Config{Shards: 8, Commands: txSteps{}})
	defer s.Close()
	for i := range 5000 {
		ask(s, epoch, engine.Op{Key: keyOf(i), Limit: bucket(1, 1, sec), Tokens: 1})
	}
	f := s.Snapshot()
	var res engine.Result
	for i := range 5000 {
		if op := (engine.Op{Key: keyOf(i), Limit: bucket(1, 1, sec), Tokens: 1}); !s.TryReadOnly(epoch, &op, &res) {
			t.Fatal("not denied")
		}
	}
	if _, dropped := s.Sweep(epoch+60*sec, 100_000); dropped > 0 {
		t.Errorf("%d dropped while frozen", dropped)
	}
	contents(s, epoch)
	atomically := []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}}, {Verb: engine.Check, Key: []byte("p"), Who: []byte("x")}}
	s.ApplyAtomic(epoch, atomically[:1], make([]engine.Result, 1))
	if n := s.SnapshotBytes(); n != 0 {
		t.Errorf("%d bytes copied", n)
	}
	before := s.Bytes()
	for range 5 { // locks all shards, changes one record
		s.ApplyAtomic(epoch, []engine.Op{{Verb: engine.Check, Key: []byte("p"), Who: keyOf(7), Tokens: 1}}, make([]engine.Result, 1))
	}
	if n := s.SnapshotBytes(); n != 256 {
		t.Errorf("%d bytes of %d copied for one key", n, before)
	}
	ask(s, epoch, engine.Op{Verb: engine.Flush})
	if s.Bytes() > 1000 || s.SnapshotBytes() < before/2 {
		t.Errorf("%d bytes kept, %d frozen of %d after a flush", s.Bytes(), s.SnapshotBytes(), before)
	}
	f.Release()
	if n := s.SnapshotBytes(); n != 0 {
		t.Errorf("%d bytes left", n)
	}
}

func TestOnlyOneSnapshot(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	f := s.Snapshot()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there were two")
			}
		}()
		s.Snapshot()
	}()
	f.Release()
	s.Snapshot().Release()
}

// One goroutine applies and freezes, like a replica, another scans, others read, answer read-only and sweep. Two keys
// that are always taken from together show the same in every snapshot.
func TestSnapshotConcurrently(t *testing.T) {
	s := New(Config{Shards: 16})
	defer s.Close()
	const pairs = 300
	limit := limits.Limit{Algorithm: limits.FixedWindow, Span: limits.FromFirst, Capacity: limits.MaxTokens, Rate: limits.Rate{Tokens: 0, Period: 3600 * sec}}
	pair := func(i int) []engine.Op {
		return []engine.Op{{Key: fmt.Appendf(nil, "%d-a", i), Limit: limit, Tokens: 1}, {Key: fmt.Appendf(nil, "%d-b", i), Limit: limit, Tokens: 1}}
	}
	var wg sync.WaitGroup
	var over atomic.Bool
	beside := func(f func(r *rand.Rand)) {
		wg.Go(func() {
			for r := rand.New(rand.NewPCG(1, 14)); !over.Load(); {
				f(r)
			}
		})
	}
	beside(func(r *rand.Rand) {
		var res engine.Result
		s.TryReadOnly(epoch, &engine.Op{Verb: engine.Look, Key: pair(r.IntN(pairs))[0].Key}, &res)
	})
	beside(func(r *rand.Rand) { s.Sweep(epoch, 100) })
	beside(func(r *rand.Rand) { s.Scan(0, 1<<20, epoch, func(keyspace.Entry) {}) })
	r, results := rand.New(rand.NewPCG(2, 14)), make([]engine.Result, 1)
	var scanning chan struct{}
	for range 20 {
		for range 500 {
			i := r.IntN(pairs)
			s.Apply(epoch, []engine.Op{{Verb: engine.AcquireAll, Parts: pair(i)}}, results)
			if r.IntN(100) == 0 {
				for _, p := range pair(i) {
					s.Apply(epoch, []engine.Op{{Verb: engine.Delete, Key: p.Key}}, results)
				}
			}
		}
		if scanning != nil {
			<-scanning
		}
		f := s.Snapshot()
		scanning = make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			defer f.Release()
			counts := map[string]int64{}
			f.Scan(epoch, func(e keyspace.Entry) { counts[string(e.Key)] = algorithm.LoadWindow(e.State).Count })
			for i := range pairs {
				if p := pair(i); counts[string(p[0].Key)] != counts[string(p[1].Key)] {
					t.Errorf("pair %d: %d and %d", i, counts[string(p[0].Key)], counts[string(p[1].Key)])
				}
			}
		}(scanning)
	}
	<-scanning
	over.Store(true)
	wg.Wait()
}

// Every kind of change of a key, of any algorithm, leaves the snapshot as it was.
func TestSnapshotIsUnchangedByEveryVerb(t *testing.T) {
	for _, one := range limits.Algorithms() {
		if one == limits.Penalty {
			continue // no request changes it alone: see TestPenaltyEqualsNaiveModel
		}
		take := engine.Op{Key: []byte("k"), Limit: limits.Limit{Algorithm: one, Capacity: 30, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 1}
		if one.HasRate() {
			take.Limit.Rate.Tokens = 5
		}
		if one == limits.SlidingSegments {
			take.Limit.Segments = 6
		}
		if one == limits.Balance {
			take.Limit = limits.Limit{Algorithm: one}
		}
		changed := 0
		for _, op := range []engine.Op{take, {Verb: engine.Refund, Key: take.Key, Tokens: 1}, {Verb: engine.Release, Key: take.Key, Who: []byte("0")}, {Verb: engine.Delete, Key: take.Key}, {Verb: engine.Flush}} {
			s := New(Config{Shards: 1})
			if one == limits.Balance {
				ask(s, epoch, engine.Op{Verb: engine.Reserve, Key: []byte("payment"), MaxWait: sec, Parts: []engine.Op{{Verb: engine.AddCredits, Key: take.Key, Limit: take.Limit, Tokens: 30}}})
			}
			for i := range 9 { // until the state grows
				take.Who = fmt.Append(nil, i)
				ask(s, epoch+int64(i), take)
			}
			now := epoch + 9
			was := fmt.Sprint(contents(s, now))
			f := s.Snapshot()
			if op.Verb == engine.Acquire {
				op.Who = []byte("another")
			}
			isDenied := !ask(s, now, op).Allowed && op.Verb == engine.Acquire
			if fmt.Sprint(contents(s, now)) != was || isDenied { // by an one that grants one request at a time
				changed++
			}
			if got := fmt.Sprint(snapshotContents(f, now, func() {})); got != was {
				t.Errorf("%v, verb %d: frozen %s, was %s", one, op.Verb, got, was)
			}
			f.Release()
			s.Close()
		}
		want := 3 // beside these there are leases to release, or tokens to refund
		if algorithm.Table[one].Release != nil || algorithm.Table[one].Refund != nil {
			want++
		}
		if changed != want {
			t.Errorf("%v: %d verbs changed it", one, changed)
		}
	}
}
