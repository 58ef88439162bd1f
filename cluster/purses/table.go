package purses

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

const (
	// MaxKeys bounds the keys held.
	MaxKeys = 65536
	// MaxAhead bounds the time ahead for which tokens are held.
	MaxAhead = 5 * time.Second

	stripes       = 64
	maxLends      = 20_000 // operations in a second; beyond that, tokens are held for longer
	maxLendAtOnce = limits.MaxTokens
)

// Table is the tokens that this process holds. It is safe for concurrent use.
type Table struct {
	seed    maphash.Seed
	stripes [stripes]stripe
	hot     counters
	numbers atomic.Uint64
	keys    atomic.Int64 // in all stripes
	ahead   atomic.Int64
	stretch atomic.Int64 // the factor on ahead, above 1 after too many operations
	recent  atomic.Int64 // operations since the last Tune

	Decisions atomic.Int64 // requests answered here
	Lends     atomic.Int64 // operations that were carried out
}

type stripe struct {
	mu    sync.Mutex
	byKey map[string]*keyPurse
}

// New returns an empty table. The numbers of operations begin after first.
func New(first uint64) *Table {
	t := &Table{seed: maphash.MakeSeed()}
	for i := range t.stripes {
		t.stripes[i].byKey = map[string]*keyPurse{}
	}
	t.numbers.Store(first)
	t.stretch.Store(1)
	return t
}

// SetAhead sets how far ahead tokens are held; 0 holds none.
func (t *Table) SetAhead(d time.Duration) { t.ahead.Store(int64(d)) }

// Ahead returns how far ahead tokens are held.
func (t *Table) Ahead() time.Duration { return time.Duration(t.ahead.Load()) }

// IsIdle reports whether nothing is held and nothing is to be held.
func (t *Table) IsIdle() bool { return t.ahead.Load() == 0 && t.keys.Load() == 0 }

// Keys returns the number of keys that are held, or were a moment ago.
func (t *Table) Keys() int64 { return t.keys.Load() }

// Held returns the tokens that are not spent.
func (t *Table) Held() (tokens int64) {
	t.each(func(_ *stripe, p *keyPurse) { tokens += p.Tokens })
	return tokens
}

func (t *Table) of(key []byte) (*stripe, uint64) {
	h := maphash.Bytes(t.seed, key)
	return &t.stripes[h%stripes], h
}

// each calls visit for every purse, whose stripe is locked.
func (t *Table) each(visit func(s *stripe, p *keyPurse)) {
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.Lock()
		for _, p := range s.byKey {
			visit(s, p)
		}
		s.mu.Unlock()
	}
}

// Spend answers an Acquire, or a peek, from the tokens held. If it cannot, held says whether the key is held or was a
// moment ago, and due is an operation to be carried out beside the request, nil if there is none. A request that
// [CanWait] for a held key goes on to [Table.Wait]. mono is the time of this process, now the cluster's.
func (t *Table) Spend(
	mono time.Duration, now int64, op *engine.Op, res *engine.Result,
) (done, held bool, due *Operation) {
	s, h := t.of(op.Key)
	if t.keys.Load() > 0 {
		s.mu.Lock()
		if p := s.byKey[string(op.Key)]; p != nil {
			done, due = t.spend(p, mono, now, op, res)
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
	p := s.byKey[string(op.Key)]
	if p == nil {
		if p = t.add(s, op, mono); p == nil {
			return false, false, nil
		}
	}
	p.use(mono, op.Tokens)
	if CanWait(op) {
		return false, true, nil
	}
	return false, true, t.due(p, mono)
}

// add adds a key that is in demand, unless there are too many.
func (t *Table) add(s *stripe, op *engine.Op, mono time.Duration) *keyPurse {
	if t.keys.Add(1) > MaxKeys {
		t.keys.Add(-1)
		return nil
	}
	demand := purse.NewDemand(mono-time.Second, hotAfter*max(1, op.Tokens))
	p := &keyPurse{key: string(op.Key), limit: op.Limit, demand: demand}
	s.byKey[p.key] = p
	return p
}

// spend is Spend for a key in the table.
func (t *Table) spend(
	p *keyPurse, mono time.Duration, now int64, op *engine.Op, res *engine.Result,
) (done bool, due *Operation) {
	if p.limit != op.Limit {
		if !p.Prepared && p.Previous != 0 {
			due = t.giveBack(p)
		}
		if p.pausedUntil = mono + settleFor; !p.Prepared {
			p.limit = op.Limit
		}
		return false, due
	}
	if op.Options&engine.Peek == 0 {
		p.use(mono, op.Tokens)
	}
	if op.Tokens <= p.Tokens && p.Tokens > 0 {
		granted := op.Tokens
		if op.Options&engine.Peek == 0 {
			p.Tokens -= granted
		}
		p.answer(now, granted, res)
		if p.isLow() {
			due = t.due(p, mono)
		}
		return true, due
	}
	if CanWait(op) {
		return false, nil
	}
	return false, t.due(p, mono)
}

// Drop forgets all tokens, which the log counts as spent.
func (t *Table) Drop() {
	t.each(func(_ *stripe, p *keyPurse) { p.drop() })
}

// Refund puts tokens back into a purse, unless fewer were spent that the log does not know of.
func (t *Table) Refund(now int64, op *engine.Op, res *engine.Result) (done bool) {
	if t.keys.Load() == 0 {
		return false
	}
	s, _ := t.of(op.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byKey[string(op.Key)]
	if p == nil || op.Tokens < 0 || op.Tokens > p.ceiling-p.Tokens {
		return false
	}
	p.Tokens += op.Tokens
	p.answer(now, op.Tokens, res)
	res.Allowed = false
	t.Decisions.Add(1)
	return true
}
