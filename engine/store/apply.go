package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// apply carries out one operation on one key. The caller holds the shard's lock.
func (s *shard) apply(c *call, now int64, tag uint32, op *engine.Op, res *engine.Result) {
	s.applyAt(c, now, tag, s.find(tag, op.Key), op, res)
}

// applyAt is apply for an operation whose key is at p.
func (s *shard) applyAt(c *call, now int64, tag uint32, p place, op *engine.Op, res *engine.Result) {
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
	if c.isNew {
		res.Status = engine.NotFound
		if op.Verb == engine.Release && s.admission.shared.release(c, false) {
			res.Status, res.Granted = engine.OK, 1
		}
		if op.Verb == engine.Delete && p.found {
			s.drop(p)
		}
		return
	}
	c.limit = c.prev
	switch op.Verb {
	case engine.Look:
		s.look(c, p)
	case engine.Refund:
		s.refund(c, tag, p)
	case engine.Release, engine.Leases:
		s.lease(c, p)
	case engine.ListLog:
		listLog(c)
	case engine.ListMembers:
		listMembers(c)
	case engine.Adapt:
		s.adapt(c, tag, p, false)
	case engine.Delete:
		s.reset(c, tag, p)
	}
}

// acquire decides an Acquire and stores the result.
func (s *shard) acquire(c *call, tag uint32, p place) {
	if c.isNew {
		if rules := s.admission.rulesFor(c.op.Key, p.found, nil); rules != nil {
			s.admission.decide(c, rules, false)
			return
		}
	}
	if !c.ask() || c.op.Options&engine.Peek != 0 || s.keep(c, tag, p) {
		return
	}
	if !c.isNew {
		c.refuse()
		c.result.Status = engine.NoRoomToGrow
		return
	}
	c.result.Clear()
	s.admission.decide(c, s.admission.own.Load(), false)
}

func (s *shard) look(c *call, p place) {
	c.show()
	c.result.Bytes = int64(s.size(s.record(p.ref))) + slotBytes
}

func (s *shard) refund(c *call, tag uint32, p place) {
	alg := &algorithms[c.prev.Algorithm]
	if alg.decide == nil {
		c.wrongType(limits.NoAlgorithm)
		return
	}
	if alg.refund == nil {
		c.result.Status, c.result.Held = engine.NotRefundable, c.prev
		return
	}
	s.preserve(s.record(p.ref))
	alg.refund(c)
	if alg.bytes != 0 {
		s.keep(c, tag, p)
	}
	s.noteOrDrop(c, p)
}

func (s *shard) lease(c *call, p place) {
	alg := &algorithms[c.prev.Algorithm]
	switch {
	case alg.release == nil:
		c.wrongType(limits.Concurrency)
		return
	case c.op.Verb == engine.Leases:
		listLeases(c)
		return
	}
	s.preserve(s.record(p.ref))
	if alg.release(c) {
		c.result.Granted = 1
		s.noteOrDrop(c, p)
	}
}

// noteOrDrop notes an entry after a refund or release as changed, or drops it if it has expired.
func (s *shard) noteOrDrop(c *call, p place) {
	if s.expired(s.record(p.ref), c.now) {
		s.remove(p)
		return
	}
	s.note(p.ref)
}

// adapt carries out an Adapt on a limiter. With readOnly it changes nothing, and returns false if it would have.
func (s *shard) adapt(c *call, tag uint32, p place, readOnly bool) (done bool) {
	if c.prev.Algorithm != limits.Adaptive {
		c.wrongType(limits.Adaptive)
		return true
	}
	c.limit = c.prev
	a := c.adaptive(&c.prev)
	before := a.presentRate(&c.prev)
	if !c.op.Report.IsEmpty() {
		if readOnly {
			return false
		}
		a.hear(c.op.Report, &c.prev, c.now)
		now := a.presentRate(&c.prev)
		meterAfter(c.now, loadMeter(c.state).taken(c.now, before), now).store(c.next[:])
		a.store(c.next[:])
		s.keep(c, tag, p) // it needs no more room
	}
	c.result.Wait = max(0, a.pausedUntil-c.now)
	c.result.Reply = a.presentRate(&c.prev).AppendPerSecond(c.result.Reply[:0])
	return true
}
