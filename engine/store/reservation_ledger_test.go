package store

import (
	"maps"
	"math/big"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// ledger is the naive model of limiters and reservations: the tokens taken from each key, by window and time, in
// exact fractions.
type ledger struct {
	accounts map[string]*account
	booked   map[string]*booking
}

// account has the tokens taken from one key, under the limit that it was last held to.
type account struct {
	limit      limits.Limit
	meter      twin             // of a meter or a queue
	start, end int64            // of a fixed window
	count      int64            // in it
	counts     map[int64]int64  // of a sliding window: by the start of the window
	reached    int64            // the newest of those windows
	grants     []engine.Grant   // of a sliding log; of a window in segments, each at the start of its segment
	leases     map[string]int64 // their ends
}

// booking is a reservation. Each part has where its tokens were taken.
type booking struct {
	request engine.Op
	answer  engine.Result
	end     int64
	parts   []bookedPart
	settled bool
	count   uint32 // of its extensions
	last    int64  // granted by the last of them
}

type bookedPart struct {
	op      engine.Op
	charged int64
	at      int64          // the start of the window, or the time in a log
	more    []engine.Grant // by extensions; the time as at
}

// giveBack returns tokens to where they were taken, the newest first.
func (p *bookedPart) giveBack(a *account, now, tokens int64) {
	rest := p.charged
	for _, g := range slices.Backward(p.more) {
		n := min(tokens, g.Tokens)
		a.giveBack(now, n, g.Time, p.op.Who)
		tokens, rest = tokens-n, rest-g.Tokens
	}
	if n := min(tokens, rest); n > 0 {
		a.giveBack(now, n, p.at, p.op.Who)
	}
}

func isMeter(a limits.Algorithm) bool { return a.HasRate() }

// of returns the account of a key at a time; a fresh one under the limit if nothing is taken.
func (l *ledger) of(now int64, key []byte, limit limits.Limit) *account {
	if a := l.accounts[string(key)]; a != nil && !a.isEmpty(now) {
		return a
	}
	a := &account{limit: limit, counts: map[int64]int64{}, leases: map[string]int64{}}
	a.meter.limit = limit
	width := limit.Rate.Period
	a.start, a.end, a.reached = now, now+width, now-now%max(1, width)
	if limit.Span == limits.Aligned {
		a.start, a.end = a.reached, a.reached+width
	}
	return a
}

func (a *account) isEmpty(now int64) bool {
	width := a.limit.Rate.Period
	switch a.limit.Algorithm {
	case limits.FixedWindow:
		return a.count == 0 || now >= a.end
	case limits.SlidingWindow:
		if a.counts[a.reached] > 0 {
			return now >= a.reached+2*width
		}
		return a.counts[a.reached-width] == 0 || now >= a.reached+width
	case limits.SlidingLog:
		return len(a.grants) == 0 || a.grants[len(a.grants)-1].Time <= now-width
	case limits.SlidingSegments:
		return a.used(now).Sign() == 0
	case limits.Concurrency:
		for _, end := range a.leases {
			if end > now {
				return false
			}
		}
		return true
	}
	return a.meter.tokensTaken(now, a.meter.limit.Rate).Sign() == 0
}

// used is the exact number of tokens that count now.
func (a *account) used(now int64) *big.Rat {
	width := a.limit.Rate.Period
	switch a.limit.Algorithm {
	case limits.FixedWindow:
		return rat(a.count)
	case limits.SlidingWindow:
		newest := a.newest(now)
		covered := min(width, max(0, width-(now-newest)))
		old := new(big.Rat).Mul(rat(a.counts[newest-width]), big.NewRat(covered, width))
		return old.Add(old, rat(a.counts[newest]))
	case limits.SlidingLog:
		n := int64(0)
		for _, g := range a.grants {
			if g.Time > now-width {
				n += g.Tokens
			}
		}
		return rat(n)
	case limits.SlidingSegments:
		n := int64(0)
		for _, g := range a.grants {
			if g.Time >= a.segment(now)-width {
				n += g.Tokens
			}
		}
		return rat(n)
	case limits.Concurrency:
		n := int64(0)
		for _, end := range a.leases {
			if end > now {
				n++
			}
		}
		return rat(n)
	}
	return a.meter.tokensTaken(now, a.meter.limit.Rate)
}

// newest is the start of the window that a sliding window is in. A clock that went back stays there.
func (a *account) newest(now int64) int64 {
	return max(a.reached, now-now%a.limit.Rate.Period)
}

// segment is the start of the present segment of a window whose segments divide it.
func (a *account) segment(now int64) int64 {
	return now - now%(a.limit.Rate.Period/int64(a.limit.Segments))
}

// remaining may be below zero.
func (a *account) remaining(now int64) int64 {
	return a.limit.Capacity - ceil(a.used(now)).Int64()
}

// take decides a request and takes its tokens, of an account that may be a copy.
func (a *account) take(now int64, op engine.Op) (granted int64, where int64, status engine.Status, fits bool) {
	if a.limit.Algorithm != op.Limit.Algorithm {
		return 0, 0, engine.WrongType, false
	}
	switch {
	case isMeter(op.Limit.Algorithm):
		if op.Limit.Algorithm == limits.LeakyQueue { // may not wait beyond its places
			op.MaxWait = 0
		}
		res := a.meter.apply(now, op)
		if a.limit = op.Limit; res.Status == engine.OK && res.Allowed && res.Granted == 0 {
			return 0, 0, engine.OK, true
		}
		return res.Granted, 0, res.Status, res.Allowed
	case op.Limit.Algorithm == limits.Concurrency:
		if _, renewed := a.leases[string(op.Who)]; (!renewed || a.leases[string(op.Who)] <= now) && a.used(now).Cmp(rat(op.Limit.Capacity)) >= 0 {
			return 0, 0, engine.OK, false
		}
		a.limit = op.Limit
		maps.DeleteFunc(a.leases, func(_ string, end int64) bool { return end <= now })
		a.leases[string(op.Who)] = now + op.Limit.Rate.Period
		return 1, 0, engine.OK, true
	}
	used := ceil(a.used(now)).Int64()
	granted = op.Tokens
	switch free := op.Limit.Capacity - used; {
	case granted <= free:
	case op.Options&engine.Force != 0:
		if used+granted-op.Limit.Capacity > limits.MaxTokens {
			return 0, 0, engine.DebtTooBig, false
		}
	case op.Options&engine.UpTo != 0 && free > 0:
		granted = free
	default:
		return 0, 0, engine.OK, false
	}
	a.limit = op.Limit
	switch op.Limit.Algorithm {
	case limits.FixedWindow:
		a.count += granted
		where = a.start
	case limits.SlidingWindow:
		a.reached = a.newest(now)
		a.counts[a.reached] += granted
		where = a.reached
	case limits.SlidingLog:
		where = now
		a.grants = slices.DeleteFunc(a.grants, func(g engine.Grant) bool { return g.Time <= now-op.Limit.Rate.Period })
		if n := len(a.grants); n > 0 && a.grants[n-1].Time >= now {
			where = a.grants[n-1].Time
			a.grants[n-1].Tokens += granted
		} else {
			a.grants = append(a.grants, engine.Grant{Time: now, Tokens: granted})
		}
	case limits.SlidingSegments:
		where = a.segment(now)
		a.grants = append(a.grants, engine.Grant{Time: where, Tokens: granted})
	}
	return granted, where, engine.OK, true
}

// giveBack returns tokens to where they were taken, at most those that still count there.
func (a *account) giveBack(now, tokens, where int64, who []byte) {
	width := a.limit.Rate.Period
	switch a.limit.Algorithm {
	case limits.FixedWindow:
		if where == a.start {
			a.count -= min(tokens, a.count)
		}
	case limits.SlidingWindow:
		a.reached = a.newest(now)
		if where == a.reached || where == a.reached-width {
			a.counts[where] -= min(tokens, a.counts[where])
		}
	case limits.SlidingLog:
		for i := range a.grants {
			if g := &a.grants[i]; g.Time == where && g.Time > now-width {
				g.Tokens -= min(tokens, g.Tokens)
			}
		}
		a.grants = slices.DeleteFunc(a.grants, func(g engine.Grant) bool { return g.Tokens == 0 })
	case limits.SlidingSegments:
		for i := range a.grants {
			if g := &a.grants[i]; g.Time == where && where >= a.segment(now)-width {
				back := min(tokens, g.Tokens)
				g.Tokens -= back
				tokens -= back
			}
		}
	case limits.Concurrency:
		if end, held := a.leases[string(who)]; held && end > now {
			delete(a.leases, string(who))
			maps.DeleteFunc(a.leases, func(_ string, end int64) bool { return end <= now })
		}
	default:
		left := new(big.Rat).Sub(a.meter.tokensTaken(now, a.meter.limit.Rate), rat(tokens))
		if left.Sign() < 0 {
			left = rat(0)
		}
		a.meter.fullAt = left.Add(rat(now), left.Mul(left, nanosPerToken(a.meter.limit.Rate)))
	}
}

// copied is a copy that shares nothing that changes.
func (a *account) copied() *account {
	c := *a
	c.counts, c.leases, c.grants = maps.Clone(a.counts), maps.Clone(a.leases), slices.Clone(a.grants)
	return &c
}

// sweep forgets expired accounts and bookings.
func (l *ledger) sweep(now int64) {
	maps.DeleteFunc(l.accounts, func(_ string, a *account) bool { return a.isEmpty(now) })
	maps.DeleteFunc(l.booked, func(_ string, b *booking) bool { return b.end <= now })
}
