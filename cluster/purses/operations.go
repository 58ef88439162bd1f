package purses

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// Operation is an operation on a loan that is to be carried out in the log.
type Operation struct {
	Key       string
	Limit     limits.Limit
	Tokens    int64
	Loan      engine.Loan
	Returning bool
	Delay     time.Duration // before it is carried out: then [Table.Join] adds the requests that wait
}

// Op returns the operation as the holder, which is this process, asks it.
func (o *Operation) Op(holder []byte) engine.Op {
	if o.Returning {
		return engine.Op{Verb: engine.Return, Key: []byte(o.Key), Who: holder, Loan: &o.Loan}
	}
	op := engine.Op{Verb: engine.Lend, Key: []byte(o.Key), Limit: o.Limit, Tokens: o.Tokens, Who: holder, Loan: &o.Loan}
	if o.Loan.Waiting > 0 {
		op.Options = engine.Merged
	}
	return op
}

// due returns the Lend that is due now, nil if there is none.
func (t *Table) due(p *keyPurse, mono time.Duration) *Operation {
	ahead := t.ahead.Load()
	if p.Prepared || ahead == 0 || mono < p.pausedUntil {
		return nil
	}
	p.demand.Measure(mono, measureEvery)
	want := min(int64(p.demand.In(min(time.Duration(ahead*t.stretch.Load()), MaxAhead))), p.limit.Capacity, maxLendAtOnce)
	want = max(want, leastWant) - p.Tokens
	if want <= 0 && len(p.waiters) == 0 {
		return nil
	}
	p.want = max(0, want)
	o := t.begin(p, false)
	if o.Delay = max(0, p.nextLend-mono); o.Delay == 0 {
		o.Loan.Waiting, o.Loan.Each = p.join(mono)
	}
	return o
}

// Join makes the requests that wait for a key wait for an operation whose delay is over.
func (t *Table) Join(mono time.Duration, o *Operation) {
	s, _ := t.of([]byte(o.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.byKey[o.Key]; p != nil && p.isUnderWay(o) {
		o.Loan.Waiting, o.Loan.Each = p.join(mono)
	}
}

// begin prepares the next operation of a purse.
func (t *Table) begin(p *keyPurse, returning bool) *Operation {
	p.Prepare(t.numbers.Add(1), returning)
	p.ceiling = p.Tokens
	return t.send(p)
}

// isUnderWay reports whether the outcome of an operation is not known yet.
func (p *keyPurse) isUnderWay(o *Operation) bool { return p.Prepared && p.Number == o.Loan.Number }

func (t *Table) send(p *keyPurse) *Operation {
	p.sending = true
	t.recent.Add(1)
	return &Operation{Key: p.key, Limit: p.limit, Tokens: p.want, Returning: p.Returning, Loan: p.Loan()}
}

// giveBack begins a Return.
func (t *Table) giveBack(p *keyPurse) *Operation {
	p.want = 0
	return t.begin(p, true)
}

// Hear takes the outcome of an operation. With fresh the operation was sent so recently that the loan cannot have been
// voided since. Hear returns the requests that no longer wait, and the operation for those that still do.
func (t *Table) Hear(
	mono time.Duration, now int64, o *Operation, res *engine.Result, fresh bool,
) (served Served, due *Operation) {
	s, _ := t.of([]byte(o.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byKey[o.Key]
	if p == nil || !p.isUnderWay(o) {
		return served, nil
	}
	isKnown := t.hear(p, mono, now, o, res, fresh)
	served = p.serve(now, o, res, isKnown)
	if len(p.waiters) > 0 {
		if due = t.due(p, mono); due == nil {
			for _, w := range p.waiters {
				if won, _ := w.Call.Claim(); won {
					served.giveUp(w, p.key)
				}
			}
			p.waiters, p.requests = nil, 0
		}
	}
	t.Decisions.Add(served.granted)
	return served, due
}

// hear is Hear without the waiting requests. It reports whether the outcome is known.
func (t *Table) hear(
	p *keyPurse, mono time.Duration, now int64, o *Operation, res *engine.Result, fresh bool,
) (isKnown bool) {
	p.sending = false
	isUnknown := !fresh
	switch res.Status {
	case engine.OK, engine.NotHeld, engine.WrongType, engine.OutOfRoom, engine.NoRoomToGrow, engine.TooNew:
	default:
		isUnknown = true
	}
	if isUnknown {
		p.pausedUntil = max(p.pausedUntil, mono+pauseAfterErr)
		return false
	}
	switch {
	case res.Status == engine.NotHeld:
		p.deposit(0, true, res.Number)
		p.pausedUntil = mono + settleFor
		return true
	case res.Status != engine.OK:
		p.Prepared = false
		p.pausedUntil = mono + settleFor
		return true
	}
	t.Lends.Add(1)
	p.others, p.resetAt = max(0, res.Remaining), now+res.Reset
	brought, drops := p.Meaning(res.Granted-o.taken(res), res.Number)
	p.deposit(brought, drops, res.Number)
	if o.Returning {
		return true
	}
	if res.Number == o.Loan.Number {
		p.target = p.Tokens
	}
	if p.Tokens < o.Tokens && float64(p.Tokens) < p.demand.In(lendsApart) {
		p.nextLend = p.begun + lendsApart
	}
	if res.Granted == 0 && o.Loan.Waiting == 0 {
		p.pausedUntil = max(p.pausedUntil, mono+pauseAfterNo)
	}
	return true
}

// Next returns every operation that is due without a request: operations whose outcome is unknown, and Returns of keys
// without requests, or with everything of all keys. It forgets keys that have had no requests for long.
func (t *Table) Next(mono time.Duration, everything bool) (due []*Operation) {
	everything = everything || t.ahead.Load() == 0
	t.each(func(s *stripe, p *keyPurse) {
		switch {
		case p.sending:
		case p.Prepared:
			if mono >= p.pausedUntil || everything {
				due = append(due, t.send(p))
			}
		case p.Previous != 0 && (everything || mono >= p.pausedUntil && int64(mono)-p.UsedAt >= int64(silentAfter)):
			due = append(due, t.giveBack(p))
		case p.Previous == 0 && (everything || int64(mono)-p.UsedAt >= int64(forgetAfter)):
			delete(s.byKey, p.key)
			t.keys.Add(-1)
		}
	})
	return due
}

// Tick returns the time after which [Table.Next] should be called again. It is longer while there are no keys, but
// shorter than the time after which a key counts as silent, unless no keys are to be held.
func (t *Table) Tick() time.Duration {
	switch {
	case t.IsIdle():
		return 4 * silentAfter
	case t.keys.Load() == 0:
		return silentAfter * 4 / 5
	}
	return silentAfter / 5
}

// Tune makes tokens be held for longer while there are too many operations. It is called once a second.
func (t *Table) Tune() {
	many, stretch := t.recent.Swap(0) > maxLends, t.stretch.Load()
	switch {
	case many && time.Duration(stretch*t.ahead.Load()) < MaxAhead:
		t.stretch.Store(2 * stretch)
	case !many && stretch > 1:
		t.stretch.Store(stretch / 2)
	}
}

// Adopt makes the table give back a loan of this process that it does not know.
func (t *Table) Adopt(mono time.Duration, key []byte) {
	s, _ := t.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[string(key)] == nil && t.keys.Load() < MaxKeys {
		s.byKey[string(key)] = &keyPurse{key: string(key), Purse: purse.Purse{Previous: unknown}}
		t.keys.Add(1)
	}
}

// unknown is the number of no operation. The log answers an operation that names it with the right number.
const unknown = 1
