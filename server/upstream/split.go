package upstream

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/loans"
)

// split is a batch with operations on keys of home.
type split struct {
	loans.Batch
	u       *Upstream
	batch   *engine.Batch
	rest    engine.Batch // the operations that the store carries out
	at      []int        // the positions of rest's operations in batch
	acquire []*acquire   // in the order of rest; nil for operations that are handed on
}

// decideApart decides a batch with operations on keys of home.
func (u *Upstream) decideApart(b *engine.Batch) (finished bool) {
	s := &split{u: u, batch: b}
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
	return s.Decide(b, &s.rest, u.opt.Decider.Decide, s.settle)
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

// settle takes the store's results. Requests for which a purse has too few tokens wait for home.
func (s *split) settle() {
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
		s.Add()
		a.done = func() {
			s.batch.Results[at] = a.result
			s.Done()
		}
		a.askBeyond()
	}
}
