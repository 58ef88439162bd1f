package allowance

import (
	"testing"
	"unsafe"

	"github.com/stintdb/stint/engine"
)

// While an operation whose keys are unknown is under way, nothing is taken from any key. The log counts all that may
// have been taken from a script's keys. What was taken from a reservation's keys is handed over.
func TestMarksOfUnknownKeys(t *testing.T) {
	s, term, now := open(t)
	take := func(key string) bool {
		op := part(key, 1)
		return s.Decide(term, now, &op, &engine.Result{})
	}
	for _, c := range []struct {
		op    engine.Op
		prior int64
	}{
		{op: engine.Op{Verb: engine.Settle, Key: []byte("id")}},
		{op: engine.Op{Verb: engine.Extend, Key: []byte("id")}},
		{op: engine.Op{Verb: engine.Script, Args: [][]byte{[]byte("other")}, KeyCount: 1}, prior: now},
		{op: engine.Op{Verb: engine.Script, Args: [][]byte{[]byte("taken")}, KeyCount: 1}, prior: now},
	} {
		if !take("taken") {
			t.Fatal("nothing is taken")
		}
		ops := []engine.Op{c.op}
		m := s.enter(term, now, ops, nil)
		if ops[0].PriorAt != c.prior || ops[0].Options&engine.AlsoDeclared != 0 {
			t.Errorf("%v is queued as %+v", c.op.Verb, ops[0])
		}
		if take("taken") || take("any") {
			t.Errorf("%v: tokens are taken meanwhile", c.op.Verb)
		}
		if m.leave(now, false); !take("taken") || !take("any") {
			t.Errorf("%v: no tokens are taken afterwards", c.op.Verb)
		}
	}
}

// Operations on keys from which nothing was taken in memory count nothing as taken, also after the tokens of other
// keys, or of a key that was reserved, were handed over.
func TestOnlyTakenTokensAreCounted(t *testing.T) {
	s, term, now := open(t)
	taken, other := part("taken", 1), part("other", 1)
	results := make([]engine.Result, 2)
	s.log.Apply(now, []engine.Op{{Verb: engine.SetPolicy, Key: []byte("policy"), Parts: []engine.Op{taken, other}},
		{Verb: engine.Reserve, Key: []byte("id"), MaxWait: 1e9, Parts: []engine.Op{{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{taken, other}}}}}, results)
	if !results[1].Allowed {
		t.Fatalf("%+v", results)
	}
	for _, key := range []string{"taken", "other"} {
		s.log.Apply(now, []engine.Op{{Verb: engine.Delete, Key: []byte(key)}}, results)
	}
	op := taken
	op.Verb = engine.Acquire
	if !s.Decide(term, now, &op, &engine.Result{}) {
		t.Fatal("nothing is taken")
	}
	for _, op := range []engine.Op{
		{Verb: engine.Check, Key: []byte("policy"), Tokens: 1, MaxKey: 64},
		{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{taken, other}},
		{Verb: engine.Extend, Key: []byte("id"), Nth: 1, Tokens: 2},
		{Verb: engine.Settle, Key: []byte("id"), Tokens: 2},
	} {
		ops := []engine.Op{op}
		m := s.enter(term, now, ops, nil)
		carries := m.handOver()
		if carries == nil || len(carries.carries) != 1 || string(carries.carries[0].Key) != "taken" {
			t.Errorf("%v: %+v is handed over", op.Verb, carries)
			continue
		}
		if ops[0].PriorAt != 0 || len(op.Parts) > 0 && ops[0].Parts[1].PriorAt != 0 {
			t.Errorf("%v counts tokens as taken that nobody took: %+v", op.Verb, ops[0])
		}
		carries.leave(now, false)
		m.leave(now, false)
	}
}

// A refund while tokens are being handed over is for the log: in memory it would be lost.
func TestRefundOnTheWay(t *testing.T) {
	s, term, now := open(t)
	op, refund := part("k", 5), engine.Op{Verb: engine.Refund, Key: []byte("k"), Tokens: 2}
	op.Verb = engine.Acquire
	if !s.Decide(term, now, &op, &engine.Result{}) || !s.Decide(term, now, &refund, &engine.Result{}) || s.takenOf(now, "k") != 3 {
		t.Fatalf("%d tokens are taken", s.takenOf(now, "k"))
	}
	m := s.enter(term, now, []engine.Op{op}, nil)
	carries := m.handOver()
	if s.Decide(term, now, &refund, &engine.Result{}) {
		t.Error("tokens are refunded that the log has by then")
	}
	carries.leave(now, true)
	m.leave(now, true)
}

// Tokens are handed over again unless the log has taken them over, and the next term begins without them.
func TestTokensLeave(t *testing.T) {
	s, term, now := open(t)
	op := part("k", 1)
	take := func() { s.Decide(term, now, &op, &engine.Result{}) }
	take()
	for _, c := range []struct {
		applied bool
		status  engine.Status
	}{{false, engine.OK}, {true, engine.WrongType}, {true, engine.OK}} {
		m := s.enter(term, now, []engine.Op{op}, nil)
		carries := m.handOver()
		if carries == nil {
			t.Fatalf("%+v: nothing is carried", c)
		}
		carries.carried[0].Status = c.status
		carries.leave(now, c.applied)
		m.leave(now, true)
	}
	if s.Has(now, op.Key) {
		t.Error("tokens that the log has taken over are still here")
	}
	take()
	if term = s.newTerm(now, false); s.Has(now, op.Key) {
		t.Error("the next term has the tokens of the last one")
	}
	if take(); s.Has(now, op.Key) {
		t.Error("tokens are taken before the log says that they may be")
	}
}

// Each group of a cluster has an allowance. It has no slots until tokens may be taken from a key.
func TestUnusedAllowanceIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Allowance{}); size > 4<<10 {
		t.Errorf("an unused allowance has %d bytes", size)
	}
}
