package engine

// apply carries out one operation. The caller holds the shard's lock.
func (s *shard) apply(now int64, tag uint32, op *Op, res *Result) {
	*res = Result{}
	p := s.find(tag, op.Key)
	live := s.load(now, op, res, p)
	switch op.Verb {
	case Acquire:
		s.acquire(tag, p, live)
	case Look:
		s.look(p, live)
	case Refund:
		s.refund(tag, p, live)
	case Delete:
		if !live {
			res.Status = NotFound
		}
		if p.found {
			s.drop(p)
		}
	}
}

func (s *shard) acquire(tag uint32, p place, live bool) {
	c := &s.ask
	if live && c.held.Algorithm != c.limit.Algorithm {
		c.result.Status, c.result.Held = WrongType, c.held
		return
	}
	changed := algorithms[c.limit.Algorithm].decide(c)
	if changed && c.op.Options&Peek == 0 && !s.keep(tag, p, c.limit) {
		*c.result = Result{Status: OutOfRoom}
	}
}

func (s *shard) look(p place, live bool) {
	c := &s.ask
	if !live {
		c.result.Status = NotFound
		return
	}
	algorithms[c.held.Algorithm].look(c)
	c.result.Held = c.held
	c.result.Bytes = int64(recordBytes(algorithms[c.held.Algorithm].bytes, len(c.op.Key))) + slotBytes
}

func (s *shard) refund(tag uint32, p place, live bool) {
	c := &s.ask
	if !live {
		c.result.Status = NotFound
		return
	}
	alg := &algorithms[c.held.Algorithm]
	alg.refund(c)
	if alg.expired(c.state[:], c.now) {
		s.drop(p)
		return
	}
	s.keep(tag, p, c.held)
}
