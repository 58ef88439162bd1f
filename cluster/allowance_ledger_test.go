package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// allowanceLedger has the grants of limits that are full again soon, with the times at which they were asked for and
// answered. In no span of time may they add up to more than one exact limiter would have granted.
type allowanceLedger struct {
	limits []limits.Limit
	ids    int            // keys of each limit
	common []limits.Limit // of all callers together; their capacities differ from those of the others
	// slack is how far the cluster's clock may move forward at once: as far as it has fallen behind before, while
	// leaders changed.
	slack time.Duration

	mu      sync.Mutex
	grants  map[string][]allowanceGrant
	checked int64 // spans that ended before this time were checked; Unix nanoseconds
}

const longestCall = 2 * time.Second // any call is answered within it

type allowanceGrant struct {
	asked, answered int64 // Unix nanoseconds
	tokens          int64 // below zero if they were given back
	limit           *limits.Limit
}

// slowLimits are full again after up to ten seconds, so a change of the leader costs them most.
var slowLimits = []limits.Limit{
	{Algorithm: limits.TokenBucket, Capacity: 40, Rate: limits.Rate{Tokens: 4, Period: int64(time.Second)}},
	{Algorithm: limits.TokenBucket, Capacity: 400, Rate: limits.Rate{Tokens: 40, Period: int64(time.Second)}},
	{Algorithm: limits.GCRA, Capacity: 20, Rate: limits.Rate{Tokens: 2, Period: int64(time.Second)}},
	{Algorithm: limits.FixedWindow, Capacity: 60, Rate: limits.Rate{Period: int64(5 * time.Second)}},
	{Algorithm: limits.FixedWindow, Capacity: 100, Rate: limits.Rate{Period: int64(10 * time.Second)}},
}

// op asks one of the limits on behalf of a caller.
func (l *allowanceLedger) op(i, id int, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "share", i, ":", id), Limit: l.limits[i], Tokens: tokens}
}

// randomOp asks some of the limits for tokens, and lists the questions to each. Only the answer shows which limits a
// policy has asked.
func (l *allowanceLedger) randomOp(r *rand.Rand) (op engine.Op, asks []engine.Op) {
	i, id, tokens := r.IntN(len(l.limits)), r.IntN(l.ids), 1+r.Int64N(4)
	if r.IntN(6) == 0 {
		tokens = 1 + r.Int64N(l.limits[i].Capacity) // more than the allowance
	}
	op = l.op(i, id, tokens)
	switch r.IntN(8) {
	case 0:
		parts := []engine.Op{op, l.op((i+1)%len(l.limits), r.IntN(l.ids), tokens)}
		return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: parts}, parts
	case 1:
		return engine.Op{Verb: engine.Check, Key: []byte("shared"), Who: fmt.Append(nil, id), Tokens: tokens}, l.every(id)
	case 2:
		op.Options = engine.UpTo
	case 3:
		if op.Keep = engine.KeepTokens(r.Int64N(10)); op.Keep > 4 { // as RL.ATMOST
			op.Options, op.Tokens = engine.UpTo, op.Limit.Capacity
		}
	}
	return op, []engine.Op{op}
}

// every returns questions to all limits of a caller. The capacities in the answer show which of them a policy has
// asked.
func (l *allowanceLedger) every(id int) (ops []engine.Op) {
	for i := range l.limits {
		ops = append(ops, l.op(i, id, 0))
	}
	return ops
}

// note records the answer to a question.
func (l *allowanceLedger) note(asked time.Time, asks []engine.Op, res *engine.Result) {
	if res.Status != engine.OK || !res.Allowed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grants == nil {
		l.grants = map[string][]allowanceGrant{}
	}
	for i := range asks {
		wasAsked := len(res.Parts) == 0 || slices.ContainsFunc(res.Parts, func(p engine.Result) bool {
			return p.Limit == asks[i].Limit.Capacity
		})
		if !wasAsked {
			continue
		}
		key, tokens := string(asks[i].Key), res.Granted
		if asks[i].Options&engine.FixedCost != 0 {
			tokens = asks[i].Tokens
		}
		l.grants[key] = append(l.grants[key], allowanceGrant{asked.UnixNano(), time.Now().UnixNano(), tokens, &asks[i].Limit})
	}
}

// check looks for a span of time with more grants than one limiter would have given.
func (l *allowanceLedger) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for key, grants := range l.grants {
		if err := l.checkSpans(grants); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	l.checked = now.Add(-longestCall).UnixNano()
	return nil
}

// checkSpans looks at the spans of up to a minute, or ten seconds of many grants, that have ended since the last check,
// and at the whole time.
func (l *allowanceLedger) checkSpans(grants []allowanceGrant) error {
	slices.SortFunc(grants, func(a, b allowanceGrant) int { return cmp.Compare(a.answered, b.answered) })
	longest := int64(time.Minute)
	if len(grants) > 2000 {
		longest = int64(10 * time.Second)
	}
	since := func(at int64) int {
		i, _ := slices.BinarySearchFunc(grants, at, func(g allowanceGrant, at int64) int {
			return cmp.Compare(g.answered, at)
		})
		return i
	}
	checked := since(l.checked - longest)
	for first := range grants {
		if first > 0 && first < checked {
			continue
		}
		from, sum := grants[first].asked, int64(0)
		for i := since(from - int64(longestCall)); i < len(grants); i++ {
			g := &grants[i]
			if g.asked < from {
				continue
			}
			if i > first && first > 0 && g.answered-from > longest {
				break
			}
			if sum += g.tokens; g.tokens < 0 || g.answered < l.checked {
				continue
			}
			span := time.Duration(g.answered-from) + l.slack
			span += span / 1000
			limit := g.limit
			most := float64(limit.Capacity) + 1
			if limit.Algorithm == limits.FixedWindow {
				most *= float64(1 + (span+time.Duration(limit.Rate.Period)-1)/time.Duration(limit.Rate.Period))
			} else {
				most += float64(limit.Rate.Tokens) * span.Seconds() * float64(time.Second) / float64(limit.Rate.Period)
			}
			if float64(sum) > most {
				return fmt.Errorf("%d tokens granted between %v and %v, one limiter would have granted %.1f at most", sum, from/1e6,
					g.answered/1e6, most)
			}
		}
	}
	return nil
}
