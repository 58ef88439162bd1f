package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// TryReadOnly is apply for an operation that changes nothing; it reports false for any other.
func (s *Shard) TryReadOnly(c *algorithm.Call, now int64, tag uint32, op *engine.Op, res *engine.Result) bool {
	res.Clear()
	p := s.Find(tag, op.Key)
	s.Load(c, s.latest.instant(now, false), op, res, p)
	switch op.Verb {
	case engine.Lend, engine.Return, engine.Void, engine.Loans:
		return s.applyLoan(c, tag, p, true)
	case engine.Prepare, engine.Deposit:
		return s.applyPurse(c, tag, p, true)
	case engine.Carry:
		return !c.IsNew
	case engine.Fingerprint:
		answerFingerprint(s, c, tag)
		return true
	case engine.Acquire:
		if c.IsNew {
			if rules := s.admission.RulesFor(op.Key, p.Found, nil); rules != nil {
				return s.admission.Decide(c, rules, true)
			}
		}
		if c.Ask() {
			return op.Options&engine.Peek != 0
		}
		s.mem.Denied.Delay(c)
		return true
	}
	if c.IsNew {
		res.Status = engine.NotFound
		return op.Verb != engine.Release || !s.admission.Shared.Release(c, true)
	}
	c.Limit = c.Prev
	alg := &algorithm.Table[c.Prev.Algorithm]
	switch {
	case op.Verb == engine.Look:
		s.look(c, p)
		return true
	case op.Verb == engine.Refund && alg.Refund == nil:
		s.refund(c, tag, p)
		return true
	case op.Verb == engine.Leases, op.Verb == engine.Release && (alg.Release == nil || !c.ScanLeases().Found):
		s.lease(c, p)
		return true
	case algorithm.List(c):
		return true
	case op.Verb == engine.Adapt:
		return s.adapt(c, tag, p, true)
	}
	return false
}
