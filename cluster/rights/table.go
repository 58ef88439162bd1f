package rights

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
)

const (
	// MaxKeys bounds the keys held.
	MaxKeys = 65536
	// MaxAhead bounds the time ahead for which tokens are held.
	MaxAhead = 5 * time.Second

	stripes       = 64
	maxLends      = 20_000 // operations in a second; with more, tokens are held for longer
	maxLendAtOnce = engine.MaxTokens
)

// Table is the tokens that this process holds. It is safe for concurrent use.
type Table struct {
	seed    maphash.Seed
	stripes [stripes]stripe
	hot     counters
	numbers atomic.Uint64
	keys    atomic.Int64 // rights in all stripes
	ahead   atomic.Int64
	stretch atomic.Int64 // the factor that many operations have put on ahead
	recent  atomic.Int64 // operations since the last Tune

	Decisions atomic.Int64 // requests answered here
	Lends     atomic.Int64 // operations that were carried out
}

type stripe struct {
	mu    sync.Mutex
	byKey map[string]*right
}

// An Operation is to be carried out in the log.
type Operation struct {
	Key       string
	Limit     engine.Limit
	Tokens    int64
	Loan      engine.Loan
	Returning bool
}

// New returns an empty table. Numbers of operations begin behind first.
func New(first uint64) *Table {
	t := &Table{seed: maphash.MakeSeed()}
	t.hot.slots = make([]counter, hotSlots)
	for i := range t.stripes {
		t.stripes[i].byKey = map[string]*right{}
	}
	t.numbers.Store(first)
	t.stretch.Store(1)
	return t
}

// SetAhead sets how far ahead tokens are held; 0 holds none.
func (t *Table) SetAhead(d time.Duration) { t.ahead.Store(int64(d)) }

// Ahead is how far ahead tokens are held.
func (t *Table) Ahead() time.Duration { return time.Duration(t.ahead.Load()) }

// IsIdle reports that nothing is held, nor is to be.
func (t *Table) IsIdle() bool { return t.ahead.Load() == 0 && t.keys.Load() == 0 }

// Keys is the number of keys that are held, or were a moment ago.
func (t *Table) Keys() int64 { return t.keys.Load() }

// Held is the tokens that are not spent.
func (t *Table) Held() (tokens int64) {
	t.each(func(_ *stripe, r *right) { tokens += r.tokens })
	return tokens
}

func (t *Table) of(key []byte) (*stripe, uint64) {
	h := maphash.Bytes(t.seed, key)
	return &t.stripes[h%stripes], h
}

// each calls visit for every right, whose stripe is locked.
func (t *Table) each(visit func(s *stripe, r *right)) {
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.Lock()
		for _, r := range s.byKey {
			visit(s, r)
		}
		s.mu.Unlock()
	}
}

// Spend answers an Acquire, or a peek, from the tokens held. Otherwise held says whether the key is held, or was a moment ago, and due
// is an operation to be carried out beside the request, nil if there is none. mono is the time here, now the cluster's.
func (t *Table) Spend(mono time.Duration, now int64, op *engine.Op, res *engine.Result) (done, held bool, due *Operation) {
	s, h := t.of(op.Key)
	if t.keys.Load() > 0 {
		s.mu.Lock()
		if r := s.byKey[string(op.Key)]; r != nil {
			done, due = t.spend(r, mono, now, op, res)
			s.mu.Unlock()
			if done {
				t.Decisions.Add(1)
			}
			return done, true, due
		}
		s.mu.Unlock()
	}
	if op.Options&engine.Peek != 0 || t.ahead.Load() == 0 || !t.hot.count(h, op.Limit, mono) {
		return false, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byKey[string(op.Key)]
	if r == nil {
		if r = t.add(s, op, mono); r == nil {
			return false, false, nil
		}
	}
	r.use(mono, op.Tokens)
	return false, true, t.due(r, mono)
}

// add adds a key that is in demand, unless there are too many.
func (t *Table) add(s *stripe, op *engine.Op, mono time.Duration) *right {
	if t.keys.Add(1) > MaxKeys {
		t.keys.Add(-1)
		return nil
	}
	r := &right{key: string(op.Key), limit: op.Limit, measured: mono - time.Second, asked: hotAfter * max(1, op.Tokens)}
	s.byKey[r.key] = r
	return r
}

// spend is Spend for a key that is in the table.
func (t *Table) spend(r *right, mono time.Duration, now int64, op *engine.Op, res *engine.Result) (done bool, due *Operation) {
	if r.limit != op.Limit {
		if r.number == 0 && r.known != 0 {
			due = t.giveBack(r, mono)
		}
		if r.pausedUntil = mono + settleFor; r.number == 0 {
			r.limit = op.Limit
		}
		return false, due
	}
	if op.Options&engine.Peek == 0 {
		r.use(mono, op.Tokens)
	}
	if op.Tokens <= r.tokens && r.tokens > 0 {
		granted := op.Tokens
		if op.Options&engine.Peek == 0 {
			r.tokens -= granted
		}
		r.answer(now, granted, res)
		if r.tokens <= r.target/2 {
			due = t.due(r, mono)
		}
		return true, due
	}
	return false, t.due(r, mono)
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
	if want <= 0 {
		return nil
	}
	r.want, r.left, r.returning = want, r.tokens, false
	return t.begin(r, mono)
}

// begin gives the next operation of a right its number.
func (t *Table) begin(r *right, mono time.Duration) *Operation {
	r.number, r.sentAt = t.numbers.Add(1), mono
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
func (t *Table) Hear(mono time.Duration, now int64, o *Operation, res *engine.Result, fresh bool) {
	s, _ := t.of([]byte(o.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byKey[o.Key]
	if r == nil || r.number != o.Loan.Number {
		return
	}
	r.sending = false
	isUnknown := !fresh
	switch res.Status {
	case engine.OK, engine.NotHeld, engine.WrongType, engine.OutOfRoom, engine.NoRoomToGrow, engine.TooNew:
	default:
		isUnknown = true
	}
	if isUnknown {
		r.pausedUntil = max(r.pausedUntil, mono+pauseAfterErr)
		return
	}
	number := r.number
	r.number = 0
	switch {
	case res.Status == engine.NotHeld:
		r.drop()
		r.known = res.Number
		r.pausedUntil = mono + settleFor
		return
	case res.Status != engine.OK:
		r.pausedUntil = mono + settleFor
		return
	}
	t.Lends.Add(1)
	r.others, r.resetAt = max(0, res.Remaining), now+res.Reset
	switch {
	case r.returning:
		r.known = res.Number
	case res.Number == number:
		r.known = number
		r.tokens += res.Granted
		r.ceiling += res.Granted
		r.target = r.tokens
	case res.Number == o.Loan.Previous: // it brought nothing, and changed nothing
		r.known = res.Number
	default: // the loan was ended by somebody else, or an operation that was given up was carried out late
		r.known = res.Number
		r.drop()
	}
	if res.Granted == 0 && !r.returning {
		r.pausedUntil = max(r.pausedUntil, mono+pauseAfterNo)
	}
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

// Drop forgets all tokens. The log counts them as spent.
func (t *Table) Drop() {
	t.each(func(_ *stripe, r *right) { r.drop() })
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

// Refund gives tokens back to those held, if as many were spent that the log does not know of.
func (t *Table) Refund(now int64, op *engine.Op, res *engine.Result) (done bool) {
	if t.keys.Load() == 0 {
		return false
	}
	s, _ := t.of(op.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byKey[string(op.Key)]
	if r == nil || op.Tokens < 0 || op.Tokens > r.ceiling-r.tokens {
		return false
	}
	r.tokens += op.Tokens
	r.answer(now, op.Tokens, res)
	res.Allowed = false
	t.Decisions.Add(1)
	return true
}
