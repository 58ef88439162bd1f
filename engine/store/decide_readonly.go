package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// TryReadOnly answers op if applying it now would change no limiter and no policy: reads, denials and errors. It then
// answers exactly like Apply. Otherwise it returns false, changes nothing, and res has no meaning.
//
// A cluster's leader uses it to answer a denial without a log entry. An operation answered here precedes all operations that are not
// applied yet, so the caller must not have promised another order.
func (s *Store) TryReadOnly(now int64, op *engine.Op, res *engine.Result) (done bool) {
	switch op.Verb {
	case engine.AcquireAll, engine.Check, engine.Reserve, engine.Settle:
		return s.applySeveral(now, op, res, false, true)
	case engine.Command, engine.Script:
		return s.run(now, op, res, false, true)
	case engine.SetPolicy, engine.DropPolicy, engine.SetOverride:
		res.Clear()
		return s.policies.tryReadOnly(op, res)
	case engine.Restrict:
		res.Clear()
		return s.admission.tryReadOnly(op, res)
	case engine.Flush, engine.KeepOverflow, engine.KeepScript, engine.DropScripts:
		return false
	}
	c := s.calls.Get().(*algorithm.Call)
	c.Listed = 0
	sh, tag := s.locate(op.Key)
	sh.mu.Lock()
	done = sh.tryReadOnly(c, now, tag, op, res)
	sh.mu.Unlock()
	s.calls.Put(c)
	return done
}

// tryReadOnly is apply for an operation that changes nothing; it reports false for any other.
func (s *shard) tryReadOnly(c *algorithm.Call, now int64, tag uint32, op *engine.Op, res *engine.Result) bool {
	res.Clear()
	p := s.find(tag, op.Key)
	s.load(c, now, op, res, p)
	switch op.Verb {
	case engine.Lend, engine.Return, engine.Void, engine.Loans:
		return s.applyLoan(c, tag, p, true)
	case engine.Prepare, engine.Deposit:
		return s.applyTank(c, tag, p, true)
	case engine.Carry:
		return !c.IsNew
	case engine.Acquire:
		if c.IsNew {
			if rules := s.admission.rulesFor(op.Key, p.found, nil); rules != nil {
				return s.admission.decide(c, rules, true)
			}
		}
		return !c.Ask() || op.Options&engine.Peek != 0
	}
	if c.IsNew {
		res.Status = engine.NotFound
		return op.Verb != engine.Release || !s.admission.shared.release(c, true)
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
	case op.Verb == engine.ListLog:
		algorithm.ListLog(c)
		return true
	case op.Verb == engine.ListMembers:
		algorithm.ListMembers(c)
		return true
	case op.Verb == engine.Adapt:
		return s.adapt(c, tag, p, true)
	}
	return false
}
