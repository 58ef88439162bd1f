package allowance

import (
	"bytes"
	"slices"

	"github.com/stintdb/stint/engine"
)

// marks records the keys that the operations of one call touch, from the moment at which the call is prepared for the
// log until its outcome is known. Meanwhile the allowance grants nothing of these keys.
type marks struct {
	allowance *Allowance
	slots     []uint16
	carries   []engine.Op // what was taken in memory, to be carried out before the operations
	carried   []engine.Result
	flushes   bool
	blocks    int32
	policies  int32
}

// enter prepares operations for the log: those at the positions in which, or all if which is nil. The caller holds
// order, for writing if changesPolicies says so, until the carries and then the operations are queued, in one entry.
func (s *Allowance) enter(t *Term, now int64, ops []engine.Op, which []uint32) *marks {
	m := &marks{allowance: s}
	if which == nil {
		for i := range ops {
			m.enter(t, now, &ops[i])
		}
		return m
	}
	for _, i := range which {
		m.enter(t, now, &ops[i])
	}
	return m
}

// enter prepares one operation. It asks whether policies are changing before it reads them: a change that ends in between
// is then in what it reads.
func (m *marks) enter(t *Term, now int64, op *engine.Op) {
	prior := t.priorAt(now)
	switch op.Verb {
	case engine.Acquire, engine.Lend:
		op.PriorAt = prior
	case engine.AcquireAll:
		for i := range op.Parts {
			op.Parts[i].PriorAt = prior
		}
	case engine.Check:
		if op.PriorAt = prior; m.allowance.policies.Load() > 0 { // it may touch other keys
			m.block()
			op.PriorAt = now
		}
	case engine.Reserve:
		m.mark(op.Key)
		m.enter(t, now, &op.Parts[0])
		return
	case engine.Extend, engine.Settle:
		// The reservation may be under way itself: then its keys are not known yet, and all keys are blocked.
		m.mark(op.Key)
		m.block()
		op.PriorAt = prior
	case engine.Script:
		m.block()
		if op.PriorAt, op.Options = now, op.Options&^engine.AlsoDeclared; prior != 0 && op.KeyCount > 0 {
			op.Options |= engine.AlsoDeclared
		}
	case engine.Flush:
		m.block()
		m.flushes = true
	case engine.SetPolicy, engine.DropPolicy, engine.SetOverride:
		m.allowance.policies.Add(1)
		m.policies++
	}
	m.allowance.keysOf(op, func(key []byte) { m.key(now, key) })
}

// key marks a key, and adds the Carry of the tokens taken from it.
func (m *marks) key(now int64, key []byte) {
	m.mark(key) // nothing is taken from here on
	carry, found := m.allowance.taken.Taken(now, key)
	if found && !slices.ContainsFunc(m.carries, func(op engine.Op) bool { return bytes.Equal(op.Key, key) }) {
		m.carries = append(m.carries, carry)
	}
}

func (m *marks) mark(key []byte) {
	n := m.allowance.slotOf(key)
	slot := m.allowance.slot(n)
	slot.mu.Lock()
	slot.underWay++
	slot.mu.Unlock()
	m.slots = append(m.slots, n)
}

func (m *marks) block() {
	m.allowance.blocking.Add(1)
	m.blocks++
}

// handOver returns the marks of the carries alone, or nil if there are none: the carries are a call of their own,
// before the operations.
func (m *marks) handOver() *marks {
	if len(m.carries) == 0 {
		return nil
	}
	carried := &marks{allowance: m.allowance, carries: m.carries, carried: make([]engine.Result, len(m.carries))}
	for i := range m.carries {
		carried.mark(m.carries[i].Key)
	}
	m.carries = nil
	return carried
}

// leave removes the marks once the outcome of the operations is known, at the cluster's time now.
func (m *marks) leave(now int64, applied bool) {
	s := m.allowance
	if applied && m.flushes {
		s.forget(now, engine.Op{Verb: engine.Flush})
	}
	for i := range m.carries {
		key := m.carries[i].Key
		if applied && m.carried[i].Status == engine.OK {
			s.forget(now, engine.Op{Verb: engine.Delete, Key: key})
		}
	}
	for _, n := range m.slots {
		slot := s.slot(n)
		slot.mu.Lock()
		slot.underWay--
		slot.mu.Unlock()
	}
	s.blocking.Add(-m.blocks)
	s.policies.Add(-m.policies)
}

// forget drops tokens taken here.
func (s *Allowance) forget(now int64, op engine.Op) {
	var res engine.Result
	s.apply(now, &op, &res)
}
