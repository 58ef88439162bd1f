package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// TryReadOnly answers op if applying it now would change no limiter and no policy: reads, denials and errors. It then
// answers exactly like Apply. Otherwise it returns false, changes nothing, and res has no meaning.
//
// A cluster's leader uses it to answer a denial without a log entry. An operation answered here precedes all operations
// that are not applied yet, so the caller must not have promised another order.
func (s *Store) TryReadOnly(now int64, op *engine.Op, res *engine.Result) (done bool) {
	switch op.Verb {
	case engine.AcquireAll, engine.Check, engine.Reserve, engine.Extend, engine.Settle:
		return s.requests.Apply(now, op, res, false, true)
	case engine.Command, engine.Script:
		return s.transactions.Run(now, op, res, false, true)
	case engine.Expect:
		s.applyExpect(now, op, res, false)
		return true
	case engine.SetPolicy, engine.DropPolicy, engine.SetOverride:
		res.Clear()
		return s.policies.TryReadOnly(op, res)
	case engine.Restrict:
		res.Clear()
		return s.keys.Admission.TryReadOnly(op, res)
	case engine.Flush, engine.KeepOverflow, engine.KeepScript, engine.DropScripts:
		return false
	}
	c := s.keys.Calls.Get().(*algorithm.Call)
	c.Listed = 0
	sh, tag := s.keys.Locate(op.Key)
	sh.Lock()
	done = sh.TryReadOnly(c, now, tag, op, res)
	sh.Unlock()
	s.keys.Calls.Put(c)
	return done
}
