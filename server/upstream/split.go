package upstream

import (
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
)

// split is a batch with operations on keys of home.
type split struct {
	u       *Upstream
	batch   *engine.Batch
	rest    *engine.Batch // those that the store carries out
	at      []int         // the positions of rest's operations in batch
	acquire []*acquire    // in the order of rest; nil for operations that are handed on
	open    atomic.Int64  // operations without a result, and one for the batch itself
}

// decideApart decides a batch with operations on keys of home.
func (u *Upstream) decideApart(b *engine.Batch) (finished bool) {
	s := &split{u: u, batch: b, rest: &engine.Batch{Atomic: b.Atomic, Local: b.Local, InOrder: b.InOrder}}
	for i := range b.Ops {
		if k := u.classify(&b.Ops[i]); k == refuse || k == fromPurse && b.Atomic && len(b.Ops) > 1 {
			s.refuse(i)
			if b.Atomic { // all or nothing
				for j := range b.Ops {
					s.refuse(j)
				}
				return true
			}
		} else {
			s.add(i, k)
		}
	}
	if len(s.rest.Ops) == 0 {
		return true
	}
	s.rest.Results = make([]engine.Result, len(s.rest.Ops))
	s.open.Store(1)
	s.rest.Done = func() {
		b.Worked += s.rest.Worked
		s.finish()
		s.close()
	}
	if !u.opt.Decider.Decide(s.rest) {
		return false
	}
	s.finish()
	return s.open.Add(-1) == 0
}

func (s *split) refuse(at int) {
	s.batch.Results[at].Clear()
	s.batch.Results[at].Status = engine.NotAwayFromHome
}

func (s *split) add(at int, k kind) {
	op := s.batch.Ops[at]
	var a *acquire
	switch k {
	case fromPurse:
		a = &acquire{u: s.u, op: op.Clone(), until: time.Now().Add(s.u.opt.Timeout)}
		op = a.Op()
	case declare:
		op.Options |= engine.DeclaredOnly
	}
	s.rest.Ops, s.at, s.acquire = append(s.rest.Ops, op), append(s.at, at), append(s.acquire, a)
}

// finish takes the store's results. Requests that its tokens do not suffice for wait for home.
func (s *split) finish() {
	for i, at := range s.at {
		a, res := s.acquire[i], &s.rest.Results[i]
		if a == nil || res.Status != engine.OK {
			s.batch.Results[at] = *res
			continue
		}
		if res.Allowed {
			a.grantedHere(res)
			s.batch.Results[at] = *res
			continue
		}
		s.open.Add(1)
		a.done = func() {
			s.batch.Results[at] = a.result
			s.close()
		}
		a.askBeyond()
	}
}

// close ends one of the open operations, and with the last the batch.
func (s *split) close() {
	if s.open.Add(-1) == 0 {
		s.batch.Done()
	}
}
