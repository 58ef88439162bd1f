package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// dumpText is what Dump shows, for messages.
func dumpText(s *Store, now int64) (text string) {
	s.Dump(now, func(e keyspace.Entry) { text += fmt.Sprintf("%q %v %x\n", e.Key, e.Limit, e.State) })
	return text + policyText(s)
}

// Two stores that apply the same operations at the same times give the same answers, to the last byte, and have the
// same state: with different seeds and shards, if one is swept all the time, answers denials read-only, or was made in
// between from the other's state.
func TestReplicasAreEqual(t *testing.T) {
	for seed := range uint64(testsize.Pick(10, 50)) {
		r := rand.New(rand.NewPCG(seed, 11))
		never, often := New(Config{Shards: 1, Commands: txSteps{}}), New(Config{Shards: 16, Commands: txSteps{}})
		now := epoch
		a, b := make([]engine.Result, 1), make([]engine.Result, 1)
		for i := range 1500 {
			switch r.IntN(60) {
			case 0:
				now += 3 * sec
			case 1:
				now += 90 * sec
			default:
				now += r.Int64N(sec / 5)
			}
			often.Sweep(now, r.IntN(40))
			op := randomStep(r)
			never.Apply(now, []engine.Op{op}, a)
			if !often.TryReadOnly(now, &op, &b[0]) {
				often.Apply(now, []engine.Op{op}, b)
			}
			if !sameResult(a[0], b[0]) {
				t.Fatalf("seed %d step %d: %+v is answered\n%+v\n%+v", seed, i, op, shown(a[0]), shown(b[0]))
			}
			if i%50 == 0 && never.Digest(now) != often.Digest(now) {
				t.Fatalf("seed %d step %d:\n%s\n%s", seed, i, dumpText(never, now), dumpText(often, now))
			}
			if i%500 == 250 {
				often = remade(t, often, now)
			}
		}
		if never.Digest(now) != often.Digest(now) {
			t.Fatalf("seed %d:\n%s\n%s", seed, dumpText(never, now), dumpText(often, now))
		}
		never.Close()
		often.Close()
	}
}

// remade is a store as a snapshot would bring it back; the one it is made from is closed.
func remade(t *testing.T, s *Store, now int64) *Store {
	t.Helper()
	again := New(Config{Shards: 4, Commands: txSteps{}})
	s.Scan(0, 1<<30, now, func(e keyspace.Entry) {
		e.State = bytes.TrimRight(e.State, "\x00")
		if err := again.Load(now, e); err != nil {
			t.Fatal(err)
		}
	})
	s.PolicyOps(func(op *engine.Op) { ask(again, now, *op) })
	s.Close()
	return again
}

func TestDigestDistinguishesStores(t *testing.T) {
	digests := map[[32]byte]string{}
	take := engine.Op{Key: []byte("k"), Limit: bucket(5, 1, sec), Tokens: 1}
	with := func(change func(op *engine.Op)) engine.Op {
		op := take
		change(&op)
		return op
	}
	policy := engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}}
	shadow := policy
	shadow.Options = engine.Shadow
	lease := engine.Op{Key: []byte("k"), Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: 3, Rate: limits.Rate{Tokens: 0, Period: sec}}, Who: []byte("a")}
	other := lease
	other.Who = []byte("b")
	log := engine.Op{Key: []byte("k"), Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 30, Rate: limits.Rate{Tokens: 0, Period: sec}}, Tokens: 1}
	more := log
	more.Tokens = 2
	for name, ops := range map[string][]engine.Op{
		"nothing":             {},
		"a token":             {take},
		"two tokens":          {take, take},
		"another key":         {with(func(op *engine.Op) { op.Key = []byte("j") })},
		"another capacity":    {with(func(op *engine.Op) { op.Limit.Capacity++ })},
		"a policy":            {policy},
		"a policy in shadow":  {shadow},
		"an override":         {policy, {Verb: engine.SetOverride, Key: []byte("p"), Who: []byte("x"), Parts: policy.Parts}},
		"a lease":             {lease},
		"another's lease":     {other},
		"two leases":          {lease, other},
		"an entry of a log":   {log},
		"two tokens in a log": {more},
		"a restriction":       {restrictTo(engine.OverflowNew, "")},
		"another restriction": {restrictTo(engine.DenyNew, "")},
		"a shared limiter":    {restrictTo(engine.OverflowNew, ""), take},
		"two of its tokens":   {restrictTo(engine.OverflowNew, ""), take, take},
	} {
		s := New(Config{})
		for _, op := range ops {
			ask(s, epoch, op)
		}
		sum := s.Digest(epoch)
		if was, known := digests[sum]; known {
			t.Errorf("%s has the digest of %s", name, was)
		}
		digests[sum] = name
		s.Close()
	}
}

// The sum of policies changes with the weight of a member.
func TestPoliciesSumKnowsWeights(t *testing.T) {
	sums := map[[32]byte]int64{}
	for weight := range int64(4) {
		s := New(Config{})
		part := shareOp(fairShare(9, 1, sec), "{}", weight, 0)
		if res := ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{part}}); res.Status != engine.OK {
			t.Fatalf("%+v", res)
		}
		sum := s.PoliciesSum()
		if was, known := sums[sum]; known {
			t.Errorf("weight %d has the sum of weight %d", weight, was)
		}
		sums[sum] = weight
		s.Close()
	}
}

// Entries of an expired log do not count again under a longer window, swept or not.
func TestExpiredLogForgets(t *testing.T) {
	short, long := limits.Limit{Algorithm: limits.SlidingLog, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: sec}}, limits.Limit{Algorithm: limits.SlidingLog, Capacity: 5, Rate: limits.Rate{Tokens: 0, Period: 60 * sec}}
	for _, swept := range []bool{false, true} {
		s := New(Config{Shards: 1})
		ask(s, epoch, engine.Op{Key: []byte("k"), Limit: short, Tokens: 5})
		if swept {
			s.Sweep(epoch+2*sec, 10)
		}
		ask(s, epoch+2*sec, engine.Op{Key: []byte("k"), Limit: long, Tokens: 1})
		if res := ask(s, epoch+2*sec, engine.Op{Verb: engine.Look, Key: []byte("k")}); res.Remaining != 4 {
			t.Errorf("swept %t: %+v", swept, res)
		}
		s.Close()
	}
}

// shown is a result without what no reply reads, so that two can be compared.
func shown(res engine.Result) engine.Result {
	if !res.ShowsHeld() {
		res.Held = limits.Limit{}
	}
	if res.Status != engine.WrongType {
		res.Wanted = limits.NoAlgorithm
	}
	if len(res.Parts) == 0 {
		res.Parts, res.Binding = nil, 0
	}
	if len(res.Leases) == 0 {
		res.Leases = nil
	}
	if len(res.Reply) == 0 {
		res.Reply = nil
	}
	res.Work = 0 // no part of the answer
	parts := res.Parts
	res.Parts = nil
	for _, p := range parts {
		res.Parts = append(res.Parts, shown(p))
	}
	return res
}

func sameResult(a, b engine.Result) bool { return reflect.DeepEqual(shown(a), shown(b)) }
