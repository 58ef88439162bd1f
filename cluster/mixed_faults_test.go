package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// commonLimits are in such demand that nodes hold tokens of them: the demand of one is below its limit, of the others
// beyond.
var commonLimits = []limits.Limit{
	{Algorithm: limits.TokenBucket, Capacity: 410, Rate: limits.Rate{Tokens: 200, Period: int64(time.Second)}},
	// leaders have no allowance of it
	{Algorithm: limits.TokenBucket, Capacity: 450, Rate: limits.Rate{Tokens: 30, Period: int64(time.Second)}},
	{Algorithm: limits.FixedWindow, Capacity: 70, Rate: limits.Rate{Period: int64(2 * time.Second)}},
}

// mixedCounts counts requests for a limit of a caller and a common one: those that the leader granted, and granted at
// once, and refunds of the common limit.
type mixedCounts struct{ granted, atOnce, refunded atomic.Int64 }

// Leaders come and go while clients take tokens of callers who seldom ask and of all, also by a policy, and give some
// back. In no span of time is more granted than by one exact limiter, and the leader grants most of it from its
// allowance and the tokens that it holds.
func TestAllowanceAndPursesAreNeverExceeded(t *testing.T) {
	var granted, atOnce, refunded int64
	exceedAllowance(t, func(w *world, seed uint64) {
		w.allowance = allowanceLedger{limits: quickLimits, ids: 6, common: commonLimits, slack: 600 * time.Millisecond}
		w.hold(time.Second)
		do(w.leader(), w.allowance.mixedPolicy())
		w.clients.Go(func() {
			w.mixedClient(seed)
			granted += w.mixed.granted.Load()
			atOnce += w.mixed.atOnce.Load()
			refunded += w.mixed.refunded.Load()
		})
	})
	t.Logf("%d granted by a leader that was asked, %d at once; %d tokens given back", granted, atOnce, refunded)
	if !t.Failed() && (atOnce < granted/5 || refunded == 0) {
		t.Error("too few were granted at once, or given back, to show anything")
	}
}

// mixedPolicy asks a limit of a caller, and a common one.
func (l *allowanceLedger) mixedPolicy() engine.Op {
	return engine.Op{Verb: engine.SetPolicy, Key: []byte("mixed"),
		Parts: []engine.Op{{Key: []byte("share0:{}"), Limit: l.limits[0]}, {Key: []byte("common0"), Limit: l.common[0]}}}
}

// mixedOp asks a limit of a caller and a common one, and lists the questions to each. Half of the callers ask often,
// and for much.
func (l *allowanceLedger) mixedOp(r *rand.Rand) (op engine.Op, asks []engine.Op) {
	i, id, common, tokens := r.IntN(len(l.limits)), r.IntN(l.ids), r.IntN(len(l.common)), 1+r.Int64N(2)
	if r.IntN(2) == 0 {
		id = l.ids + r.IntN(300)
	}
	byPolicy := r.IntN(4) == 0
	if byPolicy {
		i, common = 0, 0
	}
	asks = []engine.Op{l.op(i, id, tokens), {Key: fmt.Append(nil, "common", common), Limit: l.common[common],
		Tokens: tokens}}
	if byPolicy {
		return engine.Op{Verb: engine.Check, Key: []byte("mixed"), Who: fmt.Append(nil, id), Tokens: tokens}, asks
	}
	asks[0].Options, asks[0].Tokens = engine.FixedCost, 1+r.Int64N(asks[0].Limit.Capacity/4)
	if r.IntN(2) == 0 {
		asks[0], asks[1] = asks[1], asks[0]
	}
	return engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: asks}, asks
}

// mixedClient asks one node often for a while, then another one.
func (w *world) mixedClient(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for !w.stopped.Load() {
		w.mu.RLock()
		n := w.nodes[w.names[r.IntN(len(w.names))]]
		w.mu.RUnlock()
		for until := time.Now().Add(time.Duration(r.Int64N(int64(4 * time.Second)))); n != nil && time.Now().Before(until) &&
			!w.stopped.Load() && !w.paused.Load(); {
			op, asks := w.allowance.mixedOp(r)
			leads, _ := n.Group().Leads()
			asked := time.Now()
			res, atOnce := tryDo(n, op)
			w.allowance.note(asked, asks, &res)
			if res.Status == engine.NoLeader {
				break
			}
			if leads && res.Allowed {
				w.mixed.granted.Add(1)
				if atOnce {
					w.mixed.atOnce.Add(1)
				}
			}
			if res.Allowed && r.IntN(20) == 0 {
				w.giveBack(n, asks[r.IntN(len(asks))])
			}
			time.Sleep(time.Duration(1+r.IntN(8)) * time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// giveBack gives back a token of a part. In the ledger the refund lasts from when it was asked for until it was
// answered.
func (w *world) giveBack(n *Node, part engine.Op) {
	asked := time.Now()
	res, _ := tryDo(n, engine.Op{Verb: engine.Refund, Key: part.Key, Tokens: 1})
	tokens := res.Granted
	if res.Status == engine.Uncertain {
		tokens = 1
	}
	if res.Status != engine.OK && res.Status != engine.Uncertain || tokens == 0 {
		return
	}
	w.mixed.refunded.Add(tokens)
	l := &w.allowance
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants[string(part.Key)] = append(l.grants[string(part.Key)], allowanceGrant{asked: time.Now().UnixNano(),
		answered: asked.UnixNano(), tokens: -tokens, limit: &part.Limit})
}
