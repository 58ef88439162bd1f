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
	waiting []waiting    // in the order of rest; nil for operations that are handed on
}

// waiting is a request that may have to wait for home. settle takes the store's result, and replaces it by the answer
// to the request; it returns false if the request has to wait, and calls done in the end.
type waiting interface {
	settle(res *engine.Result, done func()) (finished bool)
}

// decideApart decides a batch with operations on keys of home. The second of two operations on one reservation, and all
// that come after it, begin when the first one, which may wait for home, is done.
func (u *Upstream) decideApart(b *engine.Batch) (finished bool) {
	if u.beforeReserved(b) == len(b.Ops) {
		return u.decideTogether(b)
	}
	return u.decideInTurn(b, b.Clone())
}

// decideInTurn decides the rest of a batch, a copy.
func (u *Upstream) decideInTurn(b, rest *engine.Batch) (finished bool) {
	for len(rest.Ops) > 0 {
		n, part := u.beforeReserved(rest), *rest
		part.Ops, part.Results = rest.Ops[:n], rest.Results[:n]
		part.Done = func() {
			b.Worked += part.Worked
			if u.decideInTurn(b, rest) {
				b.Done()
			}
		}
		if rest.Ops, rest.Results = rest.Ops[n:], rest.Results[n:]; !u.decideTogether(&part) {
			return false
		}
	}
	return true
}

// beforeReserved returns the number of operations before the first one on a reservation that an earlier operation makes
// or extends.
func (u *Upstream) beforeReserved(b *engine.Batch) int {
	var ids map[string]bool
	for i := range b.Ops {
		op := &b.Ops[i]
		switch op.Verb {
		case engine.Extend, engine.Settle:
			if ids[string(op.Key)] && !b.Atomic {
				return i
			}
		case engine.Reserve:
		default:
			continue
		}
		if op.Verb != engine.Settle && u.classify(op) == fromPurses {
			if ids == nil {
				ids = map[string]bool{}
			}
			ids[string(op.Key)] = true
		}
	}
	return len(b.Ops)
}

// decideTogether decides a batch whose operations need not wait for each other.
func (u *Upstream) decideTogether(b *engine.Batch) (finished bool) {
	n := len(b.Ops)
	s := &split{u: u, batch: b, at: make([]int, 0, n), waiting: make([]waiting, 0, n)}
	s.rest.Ops = make([]engine.Op, 0, n)
	maySpend := u.opt.LoanTime == 0 || u.keeper.MaySpend(u.opt.Replicas()[0].Now())
	for i := range b.Ops {
		k := u.classify(&b.Ops[i])
		if !maySpend && k == fromPurse {
			k = atHome
		}
		if !maySpend && (k.spends() || k == settles && len(u.opt.Policies.Asked(&b.Ops[i])) > 0) {
			u.counts.failed.Add(1)
			s.refuse(i, engine.NoHome)
		} else if k == refuse || (k.spends() || k == byHome || k == atHome) && b.Atomic && len(b.Ops) > 1 {
			s.refuse(i, engine.NotAwayFromHome)
			if b.Atomic { // all or nothing
				for j := range b.Ops {
					s.refuse(j, engine.NotAwayFromHome)
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

func (s *split) refuse(at int, status engine.Status) {
	s.batch.Results[at].Clear()
	s.batch.Results[at].Status = status
}

func (s *split) add(at int, k kind) {
	op := s.batch.Ops[at]
	var w waiting
	switch k {
	case fromPurse:
		a := &acquire{u: s.u, op: op.Clone(), until: time.Now().Add(s.u.opt.Timeout)}
		op, w = a.Op(), a
	case fromPurses:
		r := s.u.newSeveral(&op)
		op, w = r.Asked, r
	case byHome:
		if s.u.opt.Alone { // otherwise the holder may come to another node next
			if l := s.u.lender.take(&op); l != nil {
				op, w = engine.Op{Verb: engine.Look, Key: l.op.Key}, l
				break
			}
		}
		f, ok := s.u.newForward(&op)
		if !ok {
			s.refuse(at, engine.NotAwayFromHome)
			return
		}
		op, w = engine.Op{Verb: engine.Look, Key: f.op.Key}, f
	case atHome:
		w = &refund{u: s.u, op: op.Clone()}
		if op.Verb == engine.Acquire {
			w = &acquire{u: s.u, op: op.Clone(), until: time.Now().Add(s.u.opt.Timeout), byHome: true}
		}
		op = engine.Op{Verb: engine.Look, Key: op.Key}
	case settles:
		w = &settlement{u: s.u, op: op.Clone(), limits: s.u.opt.Policies.Asked(&op)}
		op.MaxWait = int64(s.u.keeper.MaxAge())
	case keepLimits:
		op = s.u.policyInPurses(&op)
	case declare:
		op.Options |= engine.DeclaredOnly
	}
	s.rest.Ops, s.at, s.waiting = append(s.rest.Ops, op), append(s.at, at), append(s.waiting, w)
}

// settle takes the store's results. Requests for which a purse has too few tokens wait for home.
func (s *split) settle() {
	for i, at := range s.at {
		res := &s.batch.Results[at]
		*res = s.rest.Results[i]
		if w := s.waiting[i]; w != nil {
			if s.Add(); w.settle(res, s.Done) {
				s.Done()
			}
		}
	}
}
