package upstream

import (
	"errors"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command/limiter"
)

// A reservation of tokens of home is kept here, where they were taken from a purse. What it does not use goes back to
// the purse as long as home has not heard that it is spent, and otherwise to home, in a message that is sent once: if it
// is lost, the tokens count as used.

// settlement replaces the amounts of a reservation, some of them of limits of home. It implements [waiting].
type settlement struct {
	u      *Upstream
	op     engine.Op
	limits []engine.Op // none if the reservation was not made yet
}

// settle implements [waiting].
func (s *settlement) settle(res *engine.Result, _ func()) (finished bool) {
	if res.Status == engine.OK && len(s.limits) == 0 { // it was made before the store decided
		s.limits = s.u.opt.Policies.Asked(&s.op)
	}
	if res.Status != engine.OK || len(res.Parts) != len(s.limits) {
		return true
	}
	for i := range s.limits {
		if p, part := &s.limits[i], &res.Parts[i]; p.Limit.Algorithm.IsPurse() {
			p.Limit.Algorithm = p.Limit.Algorithm.Base()
			s.tellHome(p, part.Lent)
			if key := s.u.keeper.Key(here, p.Key); key != nil {
				key.AddHome(part, p.Limit)
			}
		}
	}
	return true
}

// tellHome gives tokens back to a limit of home, or takes as many as are below zero.
func (s *settlement) tellHome(p *engine.Op, tokens int64) {
	op := engine.Op{Key: p.Key, Limit: p.Limit, Tokens: tokens}
	switch {
	case tokens > 0:
		op.Verb = engine.Refund
		(&refund{u: s.u, op: op}).settle(new(engine.Result), func() {})
	case tokens < 0:
		op.Tokens, op.Options = -tokens, engine.Force
		a := &acquire{u: s.u, op: op, until: time.Now().Add(s.u.opt.Timeout), result: new(engine.Result), done: func() {}}
		a.askHome(nil)
	}
}

// refund gives tokens back to a limit of home. It implements [waiting].
type refund struct {
	u  *Upstream
	op engine.Op
}

// settle implements [waiting].
func (f *refund) settle(res *engine.Result, done func()) (finished bool) {
	f.u.home.send(f.u.opt.Timeout, f.op.Key, limiter.RefundWords(f.op.Key, f.op.Tokens), func(r reply, err error) {
		if err == nil {
			err = r.refused()
		}
		res.Clear()
		switch {
		case errors.Is(err, errUnknown):
			res.Status = engine.Uncertain
			f.u.counts.uncertain.Add(1)
		case err != nil:
			res.Status = engine.NoHome
			f.u.counts.failed.Add(1)
		case len(r.ints) == 1:
			res.Remaining = r.ints[0]
			if key := f.u.keeper.Key(here, f.op.Key); key != nil {
				key.GaveBack(res.Remaining)
			}
		default:
			res.Status = engine.NotFound
		}
		done()
	})
	return false
}
