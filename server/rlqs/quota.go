package rlqs

import (
	"slices"
	"time"
)

// quota is one limit, and its shares on this node.
type quota struct {
	key     string
	limit   Limit
	learned time.Duration // when the limit was learned
	lowered time.Duration // when it was last lowered to less than smallLimit
	by      division
	tokens  loan
	units   loan
	demand  loan // thousandths of requests per second
	shares  []*share

	usedTokens, usedUnits int64
	ownDemand             float64 // of the shares on this node
	allDemand             float64 // of all nodes
	slots                 int     // shares on this node that can have a bucket
	inSlots               float64 // demand of the shares that have a slot
}

func newQuota(key string, l Limit) *quota {
	q := &quota{key: key, limit: l, by: l.divide()}
	q.tokens.key, q.units.key, q.demand.key = keys(key)
	q.tokens.limit, q.units.limit, q.demand.limit = q.by.tokens, q.by.units, demandLimit
	q.tokens.free, q.units.free = l.Capacity, q.by.units.Capacity
	return q
}

// learn takes a limit that was learned at a time. If the limit has changed, home learns it, and buckets that are too
// large for it are replaced.
func (q *quota) learn(now time.Duration, l Limit, at time.Duration) {
	if at <= q.learned && q.learned != 0 {
		return
	}
	if q.learned = at; l == q.limit {
		return
	}
	if l.Capacity < min(smallLimit, q.limit.Capacity) {
		q.lowered = now
	}
	q.limit, q.by = l, l.divide()
	q.tokens.change(now, q.by.tokens)
	if q.by.interval > 0 {
		q.units.change(now, q.by.units)
	}
	for _, s := range q.shares {
		s.isOld = true
	}
}

// usualDemand returns the average demand of the shares whose demand is known, as a guess at the demand of a newcomer.
func (q *quota) usualDemand() float64 {
	sum, n := 0.0, 0
	for _, s := range q.shares {
		if s.known && !s.isGone {
			sum += s.demand
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// end ends a bucket, and counts all but its unspent tokens as spent.
func (q *quota) end(b *bucket, unspent int64) {
	q.spend(b, b.held-unspent)
	*b = bucket{}
}

// spend counts tokens of a bucket as spent.
func (q *quota) spend(b *bucket, tokens int64) {
	tokens = min(tokens, b.held)
	b.held -= tokens
	q.tokens.Tokens -= min(tokens, q.tokens.Tokens)
}

// count settles all shares and sums up what they have.
func (q *quota) count(now time.Duration) {
	q.usedTokens, q.usedUnits, q.ownDemand = 0, 0, 0
	q.shares = slices.DeleteFunc(q.shares, func(s *share) bool {
		s.settle(now, false)
		q.usedTokens += s.held()
		q.usedUnits += s.units()
		if !s.isGone {
			q.ownDemand += s.demand
		}
		return s.isGone && !s.now.lives() && !s.before.lives()
	})
	others := max(0, q.allDemand-float64(q.demand.Tokens)/1000)
	total := others + q.ownDemand
	if q.slots = len(q.shares); total > 0 {
		q.slots = max(1, int(float64(q.limit.Capacity)/2*q.ownDemand/total))
	}
	q.choose()
}

// choose gives the slots to the shares with the most demand. Shares with a bucket come first.
func (q *quota) choose() {
	for _, s := range q.shares {
		s.hasSlot = true
	}
	if q.slots >= len(q.shares) {
		q.inSlots = q.ownDemand
		return
	}
	slices.SortStableFunc(q.shares, func(a, b *share) int {
		switch x, y := a.weight(), b.weight(); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	q.inSlots = 0
	for i, s := range q.shares {
		if s.hasSlot = i < q.slots; s.hasSlot {
			q.inSlots += s.demand
		}
	}
}

// weight orders shares for the slots. A share keeps its bucket for a while, even without requests: otherwise the tokens
// of a small limit would go from Envoy to Envoy and never be used.
func (s *share) weight() float64 {
	const rare = 1.0 / 60
	switch {
	case s.isGone:
		return -1
	case s.now.lives():
		return 2 * max(s.demand, rare)
	case !s.known:
		return rare
	}
	return s.demand
}

// part returns the part of the limit that a demand on this node should have.
func (q *quota) part(demand float64) float64 {
	total := max(0, q.allDemand-float64(q.demand.Tokens)/1000) + q.ownDemand
	if total == 0 {
		return 0
	}
	return demand / total
}

// spareTokens and spareUnits return what is lent to this node and in no bucket.
func (q *quota) spareTokens() int64 { return max(0, q.tokens.Tokens-q.usedTokens) }
func (q *quota) spareUnits() int64  { return max(0, q.units.Tokens-q.usedUnits) }

// perSecond returns the rate of units.
func perSecond(units int64) float64 { return float64(units) / rateInterval }
