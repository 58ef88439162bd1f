package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/internal/testsize"
)

// policyText shows every policy with its overrides, the restrictions and the shared limiters.
func policyText(s *Store) (text string) {
	s.PolicyOps(func(op *engine.Op) { text += fmt.Sprintf("%x\n", appendOp(nil, op)) })
	return text
}

// If TryReadOnly answers an operation, Apply gives the same answer and changes no state. If not, TryReadOnly changes
// nothing, and Apply grants the operation or changes state.
func TestTryReadOnlyAnswersAsApply(t *testing.T) {
	type outcome struct {
		verb    engine.Verb
		status  engine.Status
		allowed bool
		done    bool
	}
	expected := []outcome{
		{engine.Acquire, engine.OK, true, false}, {engine.Acquire, engine.OK, true, true}, {engine.Acquire, engine.OK, false, true}, {engine.Acquire, engine.WrongType, false, true},
		{engine.AcquireAll, engine.OK, true, false}, {engine.AcquireAll, engine.OK, true, true}, {engine.AcquireAll, engine.OK, false, true}, {engine.AcquireAll, engine.WrongType, false, true},
		{engine.Check, engine.OK, true, false}, {engine.Check, engine.OK, true, true}, {engine.Check, engine.OK, false, true}, {engine.Check, engine.NotFound, false, true},
		{engine.Check, engine.TooLong, false, true}, {engine.Look, engine.OK, false, true}, {engine.Look, engine.NotFound, false, true},
		{engine.Refund, engine.OK, false, false}, {engine.Refund, engine.NotFound, false, true}, {engine.Refund, engine.NotRefundable, false, true},
		{engine.Release, engine.OK, false, false}, {engine.Release, engine.OK, false, true}, {engine.Release, engine.NotFound, false, true}, {engine.Release, engine.WrongType, false, true},
		{engine.Leases, engine.OK, false, true}, {engine.Leases, engine.WrongType, false, true}, {engine.Delete, engine.OK, false, false}, {engine.Delete, engine.NotFound, false, true},
		{engine.Flush, engine.OK, false, false}, {engine.SetPolicy, engine.OK, false, false}, {engine.DropPolicy, engine.OK, false, false}, {engine.DropPolicy, engine.NotFound, false, true},
		{engine.Reserve, engine.OK, true, false}, {engine.Reserve, engine.OK, true, true}, {engine.Reserve, engine.OK, false, true}, {engine.Reserve, engine.ReservationDiffers, false, true}, {engine.Reserve, engine.WrongType, false, true}, {engine.Reserve, engine.OutOfRoom, false, true},
		{engine.Settle, engine.OK, true, false}, {engine.Settle, engine.OK, true, true}, {engine.Settle, engine.NotFound, false, true}, {engine.Settle, engine.SettledOtherwise, false, true}, {engine.Settle, engine.WrongAmounts, false, true}, {engine.Settle, engine.NotPermitted, false, true}, {engine.Settle, engine.WrongType, false, true},
		{engine.Extend, engine.OK, true, false}, {engine.Extend, engine.OK, true, true}, {engine.Extend, engine.OK, false, true}, {engine.Extend, engine.NotFound, false, true}, {engine.Extend, engine.NotNext, false, true}, {engine.Extend, engine.AlreadySettled, false, true}, {engine.Extend, engine.WrongType, false, true},
		{engine.Command, engine.OK, false, false}, {engine.Command, engine.OK, false, true}, {engine.SetOverride, engine.OK, false, false}, {engine.SetOverride, engine.OK, false, true}, {engine.SetOverride, engine.NotFound, false, true},
	}
	seen := map[outcome]int{}
	least := min(testsize.Pick(1, 3), 3) // of each expected outcome
	rare := func() (o outcome, is bool) {
		for _, o := range expected {
			if seen[o] < least {
				return o, true
			}
		}
		return o, false
	}
	missing := func() bool { _, is := rare(); return is }
	for seed := uint64(0); seed < uint64(testsize.Pick(5, 30)) || seed < 200 && missing(); seed++ { // how often each is seen depends on the number of algorithms
		r := rand.New(rand.NewPCG(seed, 9))
		s := New(Config{Shards: 4, Commands: txSteps{}})
		now := epoch
		var res, want engine.Result
		results := make([]engine.Result, 1)
		digest := digestOnce{s: s}
		for i := range 1500 {
			if r.IntN(3) > 0 {
				now += r.Int64N(sec / 4)
			}
			if r.IntN(200) == 0 {
				now += 70 * sec
			}
			op := randomStep(r)
			res.Reply, results[0].Reply = nil, nil // only commands set it
			before := digest.at(now)
			done := s.TryReadOnly(now, &op, &res)
			if !done && s.Digest(now) != before { // if it is answered, the digest after Apply shows a change
				t.Fatalf("seed %d step %d: not answered, and changed something: %+v", seed, i, op)
			}
			s.Apply(now, []engine.Op{op}, results)
			want = results[0]
			digest.forget()
			same := digest.at(now) == before
			switch {
			case done && (!same || !sameResult(res, want)):
				t.Fatalf("seed %d step %d: %+v\nanswered %+v\nbut is  %+v, unchanged %t", seed, i, op, shown(res), shown(want), same)
			case !done && same && !want.Allowed && op.Verb != engine.Flush && op.Verb != engine.SetPolicy && op.Verb != engine.SetOverride && op.Verb != engine.Command && op.Verb != engine.Settle && op.Verb != engine.Delete && op.Verb != engine.Refund: // the last two perhaps of a limiter with loans and nothing taken
				t.Fatalf("seed %d step %d: %+v\nnot answered, but changes nothing: %+v", seed, i, op, want)
			}
			seen[outcome{op.Verb, want.Status, want.Allowed, done}]++
			if i%200 == 0 {
				s.Sweep(now, 10)
				digest.forget()
			}
		}
		s.Close()
	}
	if o, is := rare(); is {
		t.Errorf("%+v was seen %d times", o, seen[o])
	}
}

// A store with no room for policies refuses at once.
func TestTryReadOnlyRefusesPolicies(t *testing.T) {
	s := New(Config{Shards: 1})
	defer s.Close()
	part := []engine.Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}
	for i := range policy.MaxPolicies {
		ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: keyOf(i), Parts: part})
	}
	big := []engine.Op{{Key: make([]byte, policy.MaxPolicyBytes), Limit: bucket(2, 1, sec)}}
	var res engine.Result
	for i, op := range []engine.Op{
		{Verb: engine.SetPolicy, Key: keyOf(policy.MaxPolicies), Parts: part},
		{Verb: engine.SetPolicy, Key: keyOf(0), Parts: big},
		{Verb: engine.SetOverride, Key: keyOf(0), Who: []byte("x"), Parts: big},
	} {
		if !s.TryReadOnly(epoch, &op, &res) || res.Status != engine.TooMany {
			t.Errorf("operation %d: %+v", i, res)
		}
	}
	if s.TryReadOnly(epoch, &engine.Op{Verb: engine.SetPolicy, Key: keyOf(0), Parts: part}, &res) {
		t.Error("one that is there can be changed")
	}
}

func BenchmarkDenied(b *testing.B) {
	s := New(Config{})
	defer s.Close()
	ops, results := make([]engine.Op, 64), make([]engine.Result, 64)
	for i := range ops {
		ops[i] = engine.Op{Key: keyOf(i), Limit: bucket(1, 1, 3600*sec), Tokens: 1}
	}
	s.Apply(epoch, ops, results)
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += len(ops) {
			s.Apply(epoch, ops, results)
		}
	})
	b.Run("apply one", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += len(ops) {
			for j := range ops {
				s.Apply(epoch, ops[j:j+1], results[j:j+1])
			}
		}
	})
	b.Run("settle", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += len(ops) {
			for j := range ops {
				if !s.TryReadOnly(epoch, &ops[j], &results[j]) {
					b.Fatal("not answered")
				}
			}
		}
	})
}

// digestOnce keeps the digest of a store that has not changed: it costs more than the test.
type digestOnce struct {
	s   *Store
	now int64
	sum [32]byte
	is  bool
}

func (d *digestOnce) at(now int64) [32]byte {
	if !d.is || now != d.now {
		d.now, d.sum, d.is = now, d.s.Digest(now), true
	}
	return d.sum
}

func (d *digestOnce) forget() { d.is = false }
