package allowance

import (
	"testing"
	"unsafe"

	"github.com/stintdb/stint/engine"
)

// While an operation whose keys are not known is on its way, nothing is taken of any key, and the log counts all that may have been taken.
func TestMarksOfUnknownKeys(t *testing.T) {
	s, term, now := open(t)
	take := func(key string) bool {
		op := part(key, 1)
		return s.Decide(term, now, &op, &engine.Result{})
	}
	for _, c := range []struct {
		op           engine.Op
		alsoDeclared bool
	}{
		{op: engine.Op{Verb: engine.Settle, Key: []byte("id")}},
		{op: engine.Op{Verb: engine.Script, Args: [][]byte{[]byte("other")}, KeyCount: 1}},
		{op: engine.Op{Verb: engine.Script, Args: [][]byte{[]byte("taken")}, KeyCount: 1}, alsoDeclared: true},
	} {
		if !take("taken") {
			t.Fatal("nothing is taken")
		}
		ops := []engine.Op{c.op}
		m := s.enter(term, now, ops, nil)
		if ops[0].PriorAt != now || (ops[0].Options&engine.AlsoDeclared != 0) != c.alsoDeclared {
			t.Errorf("%v is queued as %+v", c.op.Verb, ops[0])
		}
		if take("taken") || take("any") {
			t.Errorf("%v: tokens are taken meanwhile", c.op.Verb)
		}
		if m.hands {
			s.handing.Unlock()
		}
		if m.leave(now, false); !take("taken") || !take("any") {
			t.Errorf("%v: no tokens are taken afterwards", c.op.Verb)
		}
	}
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
		s.handing.Unlock()
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

// Each group of a cluster has an allowance: until tokens may be taken of a key it has no slots.
func TestUnusedAllowanceIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Allowance{}); size > 4<<10 {
		t.Errorf("an unused allowance has %d bytes", size)
	}
}
