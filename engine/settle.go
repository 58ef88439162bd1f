package engine

// Settle answers op if carrying it out now would change no limiter and no policy: what only looks, what is denied or
// refused, what finds nothing. It then answers, and counts for a policy, exactly as Apply would. Otherwise it returns
// false, having changed and counted nothing, and res means nothing.
//
// A cluster's leader so answers a denial without a log entry. What is settled comes before all operations that are not
// applied yet: whoever settles must not have promised another order.
func (s *Store) Settle(now int64, op *Op, res *Result) (settled bool) {
	switch op.Verb {
	case AcquireAll, Check:
		g := s.groups.Get().(*group)
		if op.Verb == Check {
			settled = s.check(g, now, op, res, false, true)
		} else {
			settled = s.acquireAll(g, now, op.Parts, res, false, true)
		}
		s.groups.Put(g)
		return settled
	case SetPolicy, DropPolicy, SetOverride:
		res.reset()
		return s.policies.settle(op, res)
	case Restrict:
		res.reset()
		return s.room.settle(op, res)
	case Flush, KeepOverflow:
		return false
	}
	c := s.calls.Get().(*call)
	sh, tag := s.locate(op.Key)
	sh.mu.Lock()
	settled = sh.settles(c, now, tag, op, res)
	sh.mu.Unlock()
	s.calls.Put(c)
	return settled
}

// settles is apply for an operation that changes nothing; it reports false for any other.
func (s *shard) settles(c *call, now int64, tag uint32, op *Op, res *Result) bool {
	res.reset()
	p := s.find(tag, op.Key)
	s.load(c, now, op, res, p)
	if op.Verb == Acquire {
		if c.fresh {
			if rules := s.room.rulesFor(op.Key, p.found); rules != nil {
				return s.room.force(c, rules, true)
			}
		}
		return !c.ask() || op.Options&Peek != 0
	}
	if c.fresh {
		res.Status = NotFound
		return op.Verb != Release || !s.room.overflow.release(c, true)
	}
	c.limit = c.held
	alg := &algorithms[c.held.Algorithm]
	switch {
	case op.Verb == Look:
		s.look(c, p)
		return true
	case op.Verb == Refund && alg.refund == nil:
		s.refund(c, tag, p)
		return true
	case op.Verb == Leases, op.Verb == Release && (alg.release == nil || !c.survey().found):
		s.lease(c, p)
		return true
	}
	return false
}
