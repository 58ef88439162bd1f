package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// hotKeys are keys in such demand that nodes hold tokens of them: one under its limit, one far above it, and one whose
// limit changes. Some grants are refunded.
type hotKeys struct {
	accounts [hotCount]account

	grants, local     atomic.Int64 // of the key under its limit, and how many of them were decided where they were asked
	refunds, localRef atomic.Int64
	changes           atomic.Int64
	voided            atomic.Int64 // by nodes that have ended
}

const (
	hotCount   = 3
	hotClients = 3
)

// hotRates are tokens a second, hotCapacities the largest capacities.
var (
	hotRates      = [hotCount]int64{2000, 30, 100}
	hotCapacities = [hotCount]int64{4000, 800, 2000}
)

// hotOp asks for tokens. The limit of the last key depends on the time that has passed.
func hotOp(key int, tokens int64, passed time.Duration) engine.Op {
	op := acquire(fmt.Sprint("hot", key), hotCapacities[key], tokens)
	op.Limit.Rate = limits.Rate{Tokens: hotRates[key], Period: int64(time.Second)}
	if key == hotCount-1 && passed/(4*time.Second)%2 == 1 {
		op.Limit.Capacity /= 2
	}
	return op
}

// hotClient asks one node often for a while, then another one.
func (w *world) hotClient(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	slot := time.Duration(-1)
	for !w.stopped.Load() {
		w.mu.RLock()
		n := w.nodes[w.names[r.IntN(len(w.names))]]
		w.mu.RUnlock()
		for until := time.Since(w.began) + time.Duration(r.Int64N(int64(4*time.Second))); n != nil &&
			time.Since(w.began) < until && !w.stopped.Load() && !w.paused.Load(); {
			key, passed := r.IntN(hotCount), time.Since(w.began)
			if now := passed / (4 * time.Second); now != slot {
				slot = now
				w.hot.changes.Add(1)
			}
			res, atOnce := tryDo(n, hotOp(key, 1+r.Int64N(2), passed))
			if res.Status == engine.OK && res.Allowed {
				w.hot.accounts[key].granted.Add(res.Granted)
				if key == 0 {
					w.hot.grants.Add(1)
					if atOnce {
						w.hot.local.Add(1)
					}
				}
				if r.IntN(20) == 0 {
					w.refund(n, key)
				}
			}
			if res.Status == engine.NoLeader {
				break
			}
			time.Sleep(time.Duration(1+r.IntN(6)) * time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// refund gives back a token of a hot key.
func (w *world) refund(n *Node, key int) {
	op := hotOp(key, 1, 0)
	op.Verb, op.Limit = engine.Refund, limits.Limit{}
	switch res, atOnce := tryDo(n, op); res.Status {
	case engine.OK:
		w.hot.accounts[key].refunded.Add(res.Granted)
		w.hot.refunds.Add(1)
		if atOnce {
			w.hot.localRef.Add(1)
		}
	case engine.Uncertain:
		w.hot.accounts[key].refunded.Add(1)
	}
}

// tryDo asks a node for a decision, and reports whether it was there before Decide returned: at a node that does not
// lead, or for a grant, then from tokens held.
func tryDo(n *Node, op engine.Op) (res engine.Result, atOnce bool) {
	done := make(chan struct{})
	b := &engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1), Done: func() { close(done) }}
	defer within(time.Minute, "a call has not been answered")()
	if decide(n, b) {
		return b.Results[0], true
	}
	<-done
	return b.Results[0], false
}

// checkHot compares the grants of hot keys with what one exact limiter could have granted.
func (w *world) checkHot(passed time.Duration) error {
	for key := range hotCount {
		op := hotOp(key, 0, 0) // with the largest capacity
		if err := w.hot.accounts[key].exceeded(string(op.Key), &op.Limit, passed); err != nil {
			return err
		}
	}
	return nil
}

// tested reports that hot keys were decided where they were asked, and that loans were voided, refunded and refused.
func (h *hotKeys) tested(faults int) error {
	least := int64(80) // percent
	if faults < 1000 {
		least = 60 // a few long faults weigh much
	}
	grants, local := h.grants.Load(), h.local.Load()
	if local*100 < grants*least || h.voided.Load() == 0 || h.localRef.Load() == 0 || h.changes.Load() < 2 {
		return fmt.Errorf("%d of %d grants on the hot key were local, %d tokens were voided, %d of %d refunds were local, the limit changed %d times", local, grants, h.voided.Load(), h.localRef.Load(), h.refunds.Load(), h.changes.Load())
	}
	return nil
}

// add adds the counts of another world.
func (h *hotKeys) add(other *hotKeys) {
	for _, c := range [][2]*atomic.Int64{{&h.grants, &other.grants}, {&h.local, &other.local},
		{&h.refunds, &other.refunds}, {&h.localRef, &other.localRef}, {&h.changes, &other.changes},
		{&h.voided, &other.voided}} {
		c[0].Add(c[1].Load())
	}
}
