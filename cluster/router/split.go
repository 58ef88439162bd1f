package router

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// split is a batch of which several groups decide a part each.
type split struct {
	router *Router
	whole  *engine.Batch
	places []int  // of the operations
	parts  []part // of the groups, from group 0 on
	checks []check
	left   atomic.Int32 // the number of parts that are being decided, and one for the division itself
}

// check is a check of a policy that may have to be decided again.
type check struct {
	op    engine.Op // its own copy
	at    int       // its position in the whole batch
	place int       // where it was decided
}

// part is the operations of a batch that one group decides.
type part struct {
	batch engine.Batch
	at    []int // the positions of its operations in the whole
}

func newSplit(r *Router) *split {
	s := &split{router: r, parts: make([]part, r.count+1)}
	for i := range s.parts {
		s.parts[i].batch.Done = s.partDone
	}
	return s
}

// split lets the groups decide their parts of a batch.
func (r *Router) split(groups []Group, b *engine.Batch) (finished bool) {
	s := r.splits.Get().(*split)
	s.whole = b
	s.divide()
	s.left.Store(1)
	for i := range s.parts {
		if p := &s.parts[i]; len(p.at) > 0 {
			s.left.Add(1)
			finished := groups[i].Decide(&p.batch)
			s.keepChecks(p, finished)
			if finished {
				s.left.Add(-1)
			}
		}
	}
	if s.left.Add(-1) > 0 {
		return false
	}
	return s.join()
}

// keepChecks copies the checks of a part that may have to be decided again: the memory of their keys will be reused.
func (s *split) keepChecks(p *part, finished bool) {
	for i, at := range p.at {
		if op := &s.whole.Ops[at]; op.Request().Verb == engine.Check &&
			(!finished || p.batch.Results[i].Status == engine.CrossSlot) {
			s.checks = append(s.checks, check{op.Clone(), at, s.places[at]})
		}
	}
}

// partDone is called when a group has decided a part that it could not finish at once.
func (s *split) partDone() {
	if whole := s.whole; s.left.Add(-1) == 0 && s.join() {
		whole.Done()
	}
}

// divide makes the parts. Operations that every group carries out are in all of them, in their place among the others.
func (s *split) divide() {
	b := s.whole
	s.places = s.places[:0]
	for i := range b.Ops {
		at := s.router.Place(&b.Ops[i])
		s.places = append(s.places, at)
		switch at {
		case crossing:
			b.Results[i].Clear()
			b.Results[i].Status = engine.CrossSlot
		case everywhere:
			for g := range s.parts {
				s.parts[g].add(b, i)
			}
		default:
			s.parts[at].add(b, i)
		}
	}
	for g := range s.parts {
		p := &s.parts[g].batch
		p.Local, p.InOrder, p.Atomic = b.Local, b.InOrder, false
		for len(p.Results) < len(p.Ops) {
			p.Results = append(p.Results, engine.Result{})
		}
		p.Results = p.Results[:len(p.Ops)]
	}
}

func (p *part) add(b *engine.Batch, i int) {
	p.batch.Ops, p.at = append(p.batch.Ops, b.Ops[i]), append(p.at, i)
}

// join puts the results together. It returns false if something is left to be decided: then Done is called later.
func (s *split) join() (finished bool) {
	b := s.whole
	for g := range s.parts {
		p := &s.parts[g]
		b.Worked, p.batch.Worked = b.Worked+p.batch.Worked, 0
		for i, at := range p.at {
			switch res := &p.batch.Results[i]; {
			case s.places[at] != everywhere || g == 0:
				b.Results[at], *res = *res, b.Results[at] // each keeps its memory
			default:
				merge(&b.Results[at], res)
			}
		}
	}
	var again []check
	for _, c := range s.checks {
		if b.Results[c.at].Status == engine.CrossSlot {
			again = append(again, c)
		}
	}
	r := s.router
	s.release()
	return len(again) == 0 || r.decideAgain(b, again)
}

// merge makes res the outcome of an operation that two groups have carried out. If only one has, repeating it is safe.
func merge(res, other *engine.Result) {
	switch {
	case res.Status == other.Status, res.Status == engine.OK && other.Status == engine.NotFound,
		res.Status == engine.Uncertain:
	case res.Status == engine.NotFound && other.Status == engine.OK:
		*res = *other
	default:
		res.Status = engine.Uncertain
	}
}

// release gives the memory back for the next split.
func (s *split) release() {
	const keepOps = 256
	clear(s.checks)
	s.whole, s.checks = nil, s.checks[:0]
	for g := range s.parts {
		p := &s.parts[g]
		if cap(p.batch.Ops) > keepOps {
			*p = part{batch: engine.Batch{Done: p.batch.Done}}
			continue
		}
		clear(p.batch.Ops)
		for i := range p.batch.Results {
			p.batch.Results[i].Trim()
		}
		p.batch.Ops, p.batch.Results, p.at = p.batch.Ops[:0], p.batch.Results[:0], p.at[:0]
	}
	s.router.splits.Put(s)
}
