package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// policyText shows every policy with its overrides, the restrictions and the shared limiters.
func policyText(s *Store) (text string) {
	s.PolicyOps(func(op *Op) { text += fmt.Sprintf("%x\n", appendOp(nil, op)) })
	return text
}

// If TryReadOnly answers an operation, Apply gives the same answer and changes no state. If not, TryReadOnly changes nothing, and Apply grants
// the operation or changes state.
func TestTryReadOnlyAnswersAsApply(t *testing.T) {
	type outcome struct {
		verb    Verb
		status  Status
		allowed bool
		done    bool
	}
	expected := []outcome{
		{Acquire, OK, true, false}, {Acquire, OK, true, true}, {Acquire, OK, false, true}, {Acquire, WrongType, false, true},
		{AcquireAll, OK, true, false}, {AcquireAll, OK, true, true}, {AcquireAll, OK, false, true}, {AcquireAll, WrongType, false, true},
		{Check, OK, true, false}, {Check, OK, true, true}, {Check, OK, false, true}, {Check, NotFound, false, true},
		{Check, TooLong, false, true}, {Look, OK, false, true}, {Look, NotFound, false, true},
		{Refund, OK, false, false}, {Refund, NotFound, false, true}, {Refund, NotRefundable, false, true},
		{Release, OK, false, false}, {Release, OK, false, true}, {Release, NotFound, false, true}, {Release, WrongType, false, true},
		{Leases, OK, false, true}, {Leases, WrongType, false, true}, {Delete, OK, false, false}, {Delete, NotFound, false, true},
		{Flush, OK, false, false}, {SetPolicy, OK, false, false}, {DropPolicy, OK, false, false}, {DropPolicy, NotFound, false, true},
		{Reserve, OK, true, false}, {Reserve, OK, true, true}, {Reserve, OK, false, true}, {Reserve, ReservationDiffers, false, true}, {Reserve, WrongType, false, true}, {Reserve, OutOfRoom, false, true},
		{Settle, OK, true, false}, {Settle, OK, true, true}, {Settle, NotFound, false, true}, {Settle, SettledOtherwise, false, true}, {Settle, WrongAmounts, false, true}, {Settle, NotPermitted, false, true}, {Settle, WrongType, false, true},
		{Command, OK, false, false}, {Command, OK, false, true}, {SetOverride, OK, false, false}, {SetOverride, OK, false, true}, {SetOverride, NotFound, false, true},
	}
	seen := map[outcome]int{}
	const least = 3 // of each expected outcome
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
		var res, want Result
		results := make([]Result, 1)
		for i := range 1500 {
			if r.IntN(3) > 0 {
				now += r.Int64N(sec / 4)
			}
			if r.IntN(200) == 0 {
				now += 70 * sec
			}
			op := randomStep(r)
			res.Reply, results[0].Reply = nil, nil // only commands set it
			before := s.Digest(now)
			done := s.TryReadOnly(now, &op, &res)
			if s.Digest(now) != before {
				t.Fatalf("seed %d step %d: answered %t, and changed something: %+v", seed, i, done, op)
			}
			s.Apply(now, []Op{op}, results)
			want = results[0]
			same := s.Digest(now) == before
			switch {
			case done && (!same || !sameResult(res, want)):
				t.Fatalf("seed %d step %d: %+v\nanswered %+v\nbut is  %+v, unchanged %t", seed, i, op, shown(res), shown(want), same)
			case !done && same && !want.Allowed && op.Verb != Flush && op.Verb != SetPolicy && op.Verb != SetOverride && op.Verb != Command && op.Verb != Settle && op.Verb != Delete && op.Verb != Refund: // the last two perhaps of a limiter with loans and nothing taken
				t.Fatalf("seed %d step %d: %+v\nnot answered, but changes nothing: %+v", seed, i, op, want)
			}
			seen[outcome{op.Verb, want.Status, want.Allowed, done}]++
			if i%200 == 0 {
				s.Sweep(now, 10)
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
	part := []Op{{Key: []byte("{}"), Limit: bucket(2, 1, sec)}}
	for i := range MaxPolicies {
		ask(s, epoch, Op{Verb: SetPolicy, Key: keyOf(i), Parts: part})
	}
	big := []Op{{Key: make([]byte, MaxPolicyBytes), Limit: bucket(2, 1, sec)}}
	var res Result
	for i, op := range []Op{
		{Verb: SetPolicy, Key: keyOf(MaxPolicies), Parts: part},
		{Verb: SetPolicy, Key: keyOf(0), Parts: big},
		{Verb: SetOverride, Key: keyOf(0), Who: []byte("x"), Parts: big},
	} {
		if !s.TryReadOnly(epoch, &op, &res) || res.Status != TooMany {
			t.Errorf("operation %d: %+v", i, res)
		}
	}
	if s.TryReadOnly(epoch, &Op{Verb: SetPolicy, Key: keyOf(0), Parts: part}, &res) {
		t.Error("one that is there can be changed")
	}
}

func BenchmarkDenied(b *testing.B) {
	s := New(Config{})
	defer s.Close()
	ops, results := make([]Op, 64), make([]Result, 64)
	for i := range ops {
		ops[i] = Op{Key: keyOf(i), Limit: bucket(1, 1, 3600*sec), Tokens: 1}
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
