package keyspace

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/internal/tagindex"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

// Apply carries out one operation on one key. The caller holds the shard's lock.
func (s *Shard) Apply(c *algorithm.Call, now int64, tag uint32, op *engine.Op, res *engine.Result) {
	s.applyAt(c, now, tag, s.Find(tag, op.Key), op, res)
}

// applyAt is apply for an operation whose key is at p.
func (s *Shard) applyAt(c *algorithm.Call, now int64, tag uint32, p Place, op *engine.Op, res *engine.Result) {
	res.Clear()
	s.Load(c, s.latest.instant(now, op.Writes()), op, res, p)
	switch op.Verb {
	case engine.Acquire:
		s.acquire(c, tag, p)
		return
	case engine.Lend, engine.Return, engine.Void, engine.Loans:
		s.applyLoan(c, tag, p, false)
		return
	case engine.Prepare, engine.Deposit:
		s.applyPurse(c, tag, p, false)
		return
	case engine.Carry:
		s.carry(c, tag, p)
		return
	case engine.Fingerprint:
		answerFingerprint(s, c, tag)
		return
	}
	if c.IsNew {
		res.Status = engine.NotFound
		if op.Verb == engine.Release && s.admission.Shared.Release(c, false) {
			res.Status, res.Granted = engine.OK, 1
		}
		if op.Verb == engine.Delete && p.Found {
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
	case engine.Adapt:
		s.adapt(c, tag, p, false)
	case engine.Delete:
		s.reset(c, tag, p)
	default:
		algorithm.List(c)
	}
}

// acquire decides an Acquire and stores the result.
func (s *Shard) acquire(c *algorithm.Call, tag uint32, p Place) {
	if c.IsNew {
		if rules := s.admission.RulesFor(c.Op.Key, p.Found, nil); rules != nil {
			s.admission.Decide(c, rules, false)
			return
		}
	}
	if !c.Ask() {
		s.mem.Denied.Delay(c)
		return
	}
	if c.Op.Options&engine.Peek != 0 || s.Keep(c, tag, p) {
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

func (s *Shard) look(c *algorithm.Call, p Place) {
	c.Show()
	c.Result.Bytes = int64(s.SizeAt(p)) + tagindex.SlotBytes
}

func (s *Shard) refund(c *algorithm.Call, tag uint32, p Place) {
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
		s.Keep(c, tag, p)
	}
	s.NoteOrDrop(c, p)
}

func (s *Shard) lease(c *algorithm.Call, p Place) {
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
		s.NoteOrDrop(c, p)
	}
}

// NoteOrDrop notes an entry after a refund or release as changed, or drops it if it has expired.
func (s *Shard) NoteOrDrop(c *algorithm.Call, p Place) {
	if s.expired(s.record(p.ref), c.Now) {
		s.remove(p)
		return
	}
	s.note(p.ref)
}

// adapt carries out an Adapt on a limiter. With readOnly it changes nothing, and returns false if it would have.
func (s *Shard) adapt(c *algorithm.Call, tag uint32, p Place, readOnly bool) (done bool) {
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
		layout.MeterAfter(c.Now, layout.LoadMeter(c.State).Taken(c.Now, before), now).Store(c.Next[:])
		a.Store(c.Next[:])
		s.Keep(c, tag, p) // it needs no more room
	}
	c.Result.Wait = max(0, a.PausedUntil-c.Now)
	c.Result.Reply = a.PresentRate(&c.Prev).AppendPerSecond(c.Result.Reply[:0])
	return true
}
