package rlqs

import (
	"iter"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// mostDemand is the most that a node states, so that there is room for the demands of all nodes.
const mostDemand = limits.MaxTokens / 32

// The least times between two operations on a loan.
const (
	renewEvery  = 2 * time.Second
	demandEvery = 500 * time.Millisecond
)

// demands returns operations that state the demands for the quotas of some shares.
func (t *Table) demands(now time.Duration, touched []*share) (all []Operation) {
	for q := range byQuota(touched) {
		q.count(now)
		stated, l := int64(min(q.ownDemand*1000, mostDemand)), &q.demand
		more := stated - l.Tokens
		differs := max(more, -more) > l.Tokens/50
		if now >= l.renewed+renewEvery || differs && now >= l.renewed+demandEvery || l.renewed == 0 {
			all = t.lend(all, now, q, l, max(0, more), stated)
		}
	}
	return all
}

// loans returns operations that ask for what some shares should have, and give the rest back.
func (t *Table) loans(now time.Duration, touched []*share) (all []Operation) {
	for q, shares := range byQuota(touched) {
		q.count(now)
		if back := q.spareTokens() - q.wantedTokens(now, q.shares); back > q.limit.Capacity/64 && q.tokens.isIdle() {
			t.number++
			q.tokens.giveBack(t.number, back)
			all = append(all, q.tokens.operation(q))
		}
		tokens := min(max(0, q.wantedTokens(now, shares)-q.spareTokens()), q.limit.Capacity)
		all = t.lend(all, now, q, &q.tokens, tokens, q.tokens.Tokens)
		if q.by.interval > 0 || q.units.stated > 0 {
			units := q.wantedUnits()
			all = t.lend(all, now, q, &q.units, max(0, units-q.spareUnits()), q.usedUnits+min(q.spareUnits(), units))
		}
	}
	for _, q := range t.ended {
		if len(q.shares) == 0 && q.tokens.isIdle() && q.tokens.Tokens > 0 {
			t.number++
			q.tokens.giveBack(t.number, q.tokens.Tokens)
			all = append(all, q.tokens.operation(q))
		}
	}
	t.ended = t.ended[:0]
	return all
}

// byQuota groups shares by their quotas, in order.
func byQuota(touched []*share) iter.Seq2[*quota, []*share] {
	all := map[*quota][]*share{}
	var order []*quota
	for _, s := range touched {
		if all[s.quota] == nil {
			order = append(order, s.quota)
		}
		all[s.quota] = append(all[s.quota], s)
	}
	return func(yield func(*quota, []*share) bool) {
		for _, q := range order {
			if !yield(q, all[q]) {
				return
			}
		}
	}
}

// lend appends an operation on a loan, if one is due and none is on its way.
func (t *Table) lend(all []Operation, now time.Duration, q *quota, l *loan, ask, left int64) []Operation {
	switch {
	case l.isAway:
		return all
	case l.isOther && (l.set == 0 || now >= l.set+setEvery):
		return append(all, l.setLimit(now, q))
	case l.Prepared:
	case ask == 0 && left >= l.Tokens && l.stated == l.Tokens && now < l.renewed+renewEvery && l.renewed > 0:
		return all
	default:
		l.Tokens = min(l.Tokens, left)
		if ask == 0 && l.Tokens == 0 && l.stated == 0 {
			l.renewed = now
			return all
		}
	}
	if !l.Prepared {
		t.number++
		l.lend(now, t.number, ask)
	}
	return append(all, l.operation(q))
}

// wantedTokens returns the tokens for the buckets that some shares should have.
func (q *quota) wantedTokens(now time.Duration, some []*share) (tokens int64) {
	for _, s := range some {
		if b, wants := q.plan(s); wants && s.mayChange(now) {
			tokens += b.tokens
		}
	}
	return tokens
}

// wantedUnits returns the units that shares on this node should have and do not have.
func (q *quota) wantedUnits() (units int64) {
	for _, s := range q.shares {
		if b, wants := q.plan(s); wants && !s.isGone {
			units += max(0, b.units-s.now.units)
		}
	}
	return units
}

// Answer takes home's answer to an operation, nil if the outcome is not known.
func (t *Table) Answer(o Operation, a *Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, q := o.of, o.quota
	if a == nil {
		l.isAway = false
		return
	}
	if o.Set {
		l.isAway, l.isOther, l.free = false, l.limit != o.Limit, a.Remaining
		return
	}
	ended := l.take(*a)
	switch {
	case l == &q.demand:
		q.allDemand = float64(demandLimit.Capacity-a.Remaining-l.charged) / 1000
	case ended && l == &q.units:
		q.loseUnits(l.begun)
	case ended:
		q.lose()
	}
}

// lose ends all buckets, because home has taken the tokens back, as an operator can do by RL.VOID.
func (q *quota) lose() {
	for _, s := range q.shares {
		s.now, s.before = bucket{}, bucket{}
	}
}

// loseUnits ends the buckets with a rate. Their tokens stay lent, like the tokens of a bucket that is replaced.
func (q *quota) loseUnits(now time.Duration) {
	for _, s := range q.shares {
		if s.now.units > 0 {
			s.replace(now, bucket{})
		}
		s.before.units = 0
	}
}

// isFull reports whether nobody has taken anything of the limit, so that a bucket can be forgotten.
func (q *quota) isFull() bool { return q.tokens.free+q.tokens.Tokens >= q.limit.Capacity }
