package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// apply carries out one operation on one key. The caller holds the shard's lock.
func (s *shard) apply(c *algorithm.Call, now int64, tag uint32, op *engine.Op, res *engine.Result) {
	s.applyAt(c, now, tag, s.find(tag, op.Key), op, res)
}

// applyAt is apply for an operation whose key is at p.
func (s *shard) applyAt(c *algorithm.Call, now int64, tag uint32, p place, op *engine.Op, res *engine.Result) {
	res.Clear()
	s.load(c, now, op, res, p)
	switch op.Verb {
	case engine.Acquire:
		s.acquire(c, tag, p)
		return
	case engine.Lend, engine.Return, engine.Void, engine.Loans:
		s.applyLoan(c, tag, p, false)
		return
	case engine.Prepare, engine.Deposit:
		s.applyTank(c, tag, p, false)
		return
	case engine.Carry:
		s.carry(c, tag, p)
		return
	}
	if c.IsNew {
		res.Status = engine.NotFound
		if op.Verb == engine.Release && s.admission.Shared.Release(c, false) {
			res.Status, res.Granted = engine.OK, 1
		}
		if op.Verb == engine.Delete && p.found {
			s.drop(p)
		}
		return
	}
	c.Limit = c.Prev
	switch op.Verb {
	case engine.Look:
		s.look(c, p)
	case engine.Refund:
		s.refund(c, tag, p)
	case engine.Release, engine.Leases:
		s.lease(c, p)
	case engine.ListLog:
		algorithm.ListLog(c)
	case engine.ListMembers:
		algorithm.ListMembers(c)
	case engine.Adapt:
		s.adapt(c, tag, p, false)
	case engine.Delete:
		s.reset(c, tag, p)
	}
}

// acquire decides an Acquire and stores the result.
func (s *shard) acquire(c *algorithm.Call, tag uint32, p place) {
	if c.IsNew {
		if rules := s.admission.RulesFor(c.Op.Key, p.found, nil); rules != nil {
			s.admission.Decide(c, rules, false)
			return
		}
	}
	if !c.Ask() || c.Op.Options&engine.Peek != 0 || s.keep(c, tag, p) {
		return
	}
	if !c.IsNew {
		c.Refuse()
		c.Result.Status = engine.NoRoomToGrow
		return
	}
	c.Result.Clear()
	s.admission.Decide(c, s.admission.Own.Load(), false)
}

func (s *shard) look(c *algorithm.Call, p place) {
	c.Show()
	c.Result.Bytes = int64(s.size(s.record(p.ref))) + slotBytes
}

func (s *shard) refund(c *algorithm.Call, tag uint32, p place) {
	alg := &algorithm.Table[c.Prev.Algorithm]
	if alg.Decide == nil {
		c.WrongType(limits.NoAlgorithm)
		return
	}
	if alg.Refund == nil {
		c.Result.Status, c.Result.Held = engine.NotRefundable, c.Prev
		return
	}
	s.preserve(s.record(p.ref))
	alg.Refund(c)
	if alg.Bytes != 0 {
		s.keep(c, tag, p)
	}
	s.noteOrDrop(c, p)
}

func (s *shard) lease(c *algorithm.Call, p place) {
	alg := &algorithm.Table[c.Prev.Algorithm]
	switch {
	case alg.Release == nil:
		c.WrongType(limits.Concurrency)
		return
	case c.Op.Verb == engine.Leases:
		algorithm.ListLeases(c)
		return
	}
	s.preserve(s.record(p.ref))
	if alg.Release(c) {
		c.Result.Granted = 1
		s.noteOrDrop(c, p)
	}
}

// noteOrDrop notes an entry after a refund or release as changed, or drops it if it has expired.
func (s *shard) noteOrDrop(c *algorithm.Call, p place) {
	if s.expired(s.record(p.ref), c.Now) {
		s.remove(p)
		return
	}
	s.note(p.ref)
}

// adapt carries out an Adapt on a limiter. With readOnly it changes nothing, and returns false if it would have.
func (s *shard) adapt(c *algorithm.Call, tag uint32, p place, readOnly bool) (done bool) {
	if c.Prev.Algorithm != limits.Adaptive {
		c.WrongType(limits.Adaptive)
		return true
	}
	c.Limit = c.Prev
	a := c.Adaptive(&c.Prev)
	before := a.PresentRate(&c.Prev)
	if !c.Op.Report.IsEmpty() {
		if readOnly {
			return false
		}
		a.Hear(c.Op.Report, &c.Prev, c.Now)
		now := a.PresentRate(&c.Prev)
		algorithm.MeterAfter(c.Now, algorithm.LoadMeter(c.State).Taken(c.Now, before), now).Store(c.Next[:])
		a.Store(c.Next[:])
		s.keep(c, tag, p) // it needs no more room
	}
	c.Result.Wait = max(0, a.PausedUntil-c.Now)
	c.Result.Reply = a.PresentRate(&c.Prev).AppendPerSecond(c.Result.Reply[:0])
	return true
}
