package rights

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// An Operation is to be carried out in the log.
type Operation struct {
	Key       string
	Limit     limits.Limit
	Tokens    int64
	Loan      engine.Loan
	Returning bool
	Delay     time.Duration // before it is carried out; after it, [Table.Join] takes the requests that wait by then
}

// due is the Lend that is due now, nil if there is none.
func (t *Table) due(r *right, mono time.Duration) *Operation {
	ahead := t.ahead.Load()
	if r.number != 0 || ahead == 0 || mono < r.pausedUntil {
		return nil
	}
	r.measure(mono)
	want := min(int64(r.demand*float64(min(ahead*t.stretch.Load(), int64(MaxAhead)))), r.limit.Capacity, maxLendAtOnce)
	want = max(want, leastWant) - r.tokens
	if want <= 0 && len(r.waiters) == 0 {
		return nil
	}
	r.want, r.left, r.returning = max(0, want), r.tokens, false
	o := t.begin(r, mono)
	if o.Delay = max(0, r.nextLend-mono); o.Delay == 0 {
		o.Loan.Waiting, o.Loan.Each = r.join(mono)
	}
	return o
}

// Join has the requests that wait for a key wait for an operation whose delay is over.
func (t *Table) Join(mono time.Duration, o *Operation) {
	s, _ := t.of([]byte(o.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.byKey[o.Key]; r != nil && r.number == o.Loan.Number {
		o.Loan.Waiting, o.Loan.Each = r.join(mono)
	}
}

// begin gives the next operation of a right its number.
func (t *Table) begin(r *right, mono time.Duration) *Operation {
	r.number = t.numbers.Add(1)
	r.ceiling = r.left
	return t.send(r)
}

func (t *Table) send(r *right) *Operation {
	r.sending = true
	t.recent.Add(1)
	return &Operation{Key: r.key, Limit: r.limit, Tokens: r.want, Returning: r.returning,
		Loan: engine.Loan{Number: r.number, Previous: r.known, Left: r.left}}
}

// giveBack begins a Return.
func (t *Table) giveBack(r *right, mono time.Duration) *Operation {
	r.want, r.left, r.returning = 0, r.tokens, true
	r.tokens = 0
	o := t.begin(r, mono)
	r.ceiling = 0
	return o
}

// Hear takes the outcome of an operation. fresh says that it was sent so lately that the loan cannot have been voided since.
// It returns the requests that no longer wait, and the operation for those that still do.
func (t *Table) Hear(mono time.Duration, now int64, o *Operation, res *engine.Result, fresh bool) (served Served, due *Operation) {
	s, _ := t.of([]byte(o.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byKey[o.Key]
	if r == nil || r.number != o.Loan.Number {
		return served, nil
	}
	isKnown := t.hear(r, mono, now, o, res, fresh)
	served = r.serve(now, o, res, isKnown)
	if len(r.waiters) > 0 {
		if due = t.due(r, mono); due == nil {
			for _, w := range r.waiters {
				if won, _ := w.Call.Claim(); won {
					served.giveUp(w, r.key)
				}
			}
			r.waiters, r.requests = nil, 0
		}
	}
	t.Decisions.Add(served.granted)
	return served, due
}

// hear is Hear without the requests that wait. It reports whether the outcome is known.
func (t *Table) hear(r *right, mono time.Duration, now int64, o *Operation, res *engine.Result, fresh bool) (isKnown bool) {
	r.sending = false
	isUnknown := !fresh
	switch res.Status {
	case engine.OK, engine.NotHeld, engine.WrongType, engine.OutOfRoom, engine.NoRoomToGrow, engine.TooNew:
	default:
		isUnknown = true
	}
	if isUnknown {
		r.pausedUntil = max(r.pausedUntil, mono+pauseAfterErr)
		return false
	}
	number := r.number
	r.number = 0
	switch {
	case res.Status == engine.NotHeld:
		r.drop()
		r.known = res.Number
		r.pausedUntil = mono + settleFor
		return true
	case res.Status != engine.OK:
		r.pausedUntil = mono + settleFor
		return true
	}
	t.Lends.Add(1)
	r.others, r.resetAt = max(0, res.Remaining), now+res.Reset
	switch {
	case r.returning:
		r.known = res.Number
	case res.Number == number:
		r.known = number
		brought := res.Granted - o.taken(res)
		r.tokens += brought
		r.ceiling += brought
		r.target = r.tokens
	case res.Number == o.Loan.Previous: // it brought nothing, and changed nothing
		r.known = res.Number
	default: // the loan was ended by somebody else, or an operation that was given up was carried out late
		r.known = res.Number
		r.drop()
	}
	if !r.returning && r.tokens < o.Tokens && float64(r.tokens) < r.demand*float64(lendsApart) {
		r.nextLend = r.begun + lendsApart
	}
	if res.Granted == 0 && !r.returning && o.Loan.Waiting == 0 {
		r.pausedUntil = max(r.pausedUntil, mono+pauseAfterNo)
	}
	return true
}

// Next calls send for every operation that is due without a request: those whose outcome is unknown, and Returns of silent keys, or
// of all with everything. It forgets keys that were silent for long.
func (t *Table) Next(mono time.Duration, everything bool) (due []*Operation) {
	everything = everything || t.ahead.Load() == 0
	t.each(func(s *stripe, r *right) {
		switch {
		case r.sending:
		case r.number != 0:
			if mono >= r.pausedUntil || everything {
				due = append(due, t.send(r))
			}
		case r.known != 0 && (everything || mono >= r.pausedUntil && mono-r.lastUse >= silentAfter):
			due = append(due, t.giveBack(r, mono))
		case r.known == 0 && (everything || mono-r.lastUse >= forgetAfter):
			delete(s.byKey, r.key)
			t.keys.Add(-1)
		}
	})
	return due
}

// Tune has tokens held for longer while there are too many operations. It is called once a second.
func (t *Table) Tune() {
	many, stretch := t.recent.Swap(0) > maxLends, t.stretch.Load()
	switch {
	case many && time.Duration(stretch*t.ahead.Load()) < MaxAhead:
		t.stretch.Store(2 * stretch)
	case !many && stretch > 1:
		t.stretch.Store(stretch / 2)
	}
}

// Adopt has the table give back a loan of this process that it does not know.
func (t *Table) Adopt(mono time.Duration, key []byte) {
	s, _ := t.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[string(key)] == nil && t.keys.Load() < MaxKeys {
		s.byKey[string(key)] = &right{key: string(key), known: unknown}
		t.keys.Add(1)
	}
}

// unknown is the number of no operation: one that names it is answered with the right one.
const unknown = 1
