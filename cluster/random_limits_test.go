package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// randomShared returns a request to a fair share, a tree of classes or an adaptive rate, perhaps with a penalty, or a report to one. kind is
// its index in sharedKinds; -1 if it asks for no tokens.
func randomShared(r *rand.Rand) (op engine.Op, kind int) {
	limit := func(a limits.Algorithm, capacity int64) limits.Limit {
		l := limits.Limit{Algorithm: a, Capacity: capacity, Rate: limits.Rate{Tokens: capacity,
			Period: int64(2 * time.Second)}}
		if a.HasLeast() {
			l.Least = 1
		}
		return l
	}
	tokens := 1 + r.Int64N(4)
	pool := engine.Op{Key: fmt.Append(nil, "pool", r.IntN(2)), Limit: limit(limits.FairShare, 10), Tokens: tokens,
		Who: fmt.Append(nil, "member", r.IntN(5)), Weight: r.Int64N(4)}
	pace := engine.Op{Key: fmt.Append(nil, "pace", r.IntN(2)), Limit: limit(limits.Adaptive, sharedCapacity),
		Tokens: tokens}
	switch r.IntN(10) {
	case 0:
		return engine.Op{Verb: engine.ListMembers, Key: pool.Key}, -1
	case 1:
		return engine.Op{Verb: engine.Refund, Key: fmt.Append(nil, "class", r.IntN(4)), Tokens: tokens}, -1
	case 2:
		report := &engine.Report{Good: r.Int64N(10), Bad: r.Int64N(2), Every: int64(time.Second), Down: 80_000, Up: 5_000}
		if r.IntN(8) == 0 {
			report.Pause = int64(time.Second)
		}
		return engine.Op{Verb: engine.Adapt, Key: pace.Key, Report: report}, -1
	case 3:
		pool.Tokens, pace.Tokens = 1, 1
		return engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{pool, pace}}, -1
	case 4, 5:
		return pool, 0
	case 6, 7:
		return pace, 2
	}
	op = engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{
		{Key: fmt.Append(nil, "class", r.IntN(4)), Limit: limit(limits.Class, 20), Who: engine.AppendAssured(nil, 3,
			limits.Rate{Tokens: 2, Period: int64(time.Second)})},
		{Key: fmt.Append(nil, "team", r.IntN(2)), Limit: limit(limits.Class, 25)},
		{Key: []byte("root"), Limit: limit(limits.Class, sharedCapacity)},
	}}
	if r.IntN(3) == 0 {
		ban := engine.Op{Key: fmt.Append(nil, "ban", r.IntN(2)), Limit: limits.Limit{Algorithm: limits.Penalty, Capacity: 2,
			Rate: limits.Rate{Period: int64(time.Second)}, Ban: int64(time.Second) / 4, LongestBan: int64(time.Second)}}
		op.Parts = append([]engine.Op{pool}, append(op.Parts, pace, ban)...)
	}
	for i := range op.Parts {
		op.Parts[i].Tokens = tokens
	}
	return op, 1
}

const sharedCapacity = 30

var sharedKinds = [...]string{"fair share", "tree of classes", "adaptive rate"}

// Nodes that decide fair shares, trees and adaptive rates, also after one has died and come back, have the same state;
// and no root grants more than one bucket would.
func TestSharedLimitsAreTheSameOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(18, 18))
		w := &world{simulated: simulate(t, "a", "b", "c"), r: r}
		defer w.stop()
		w.leader()
		time.Sleep(3 * time.Second) // all are members
		began := time.Now()
		var granted, denied [len(sharedKinds)]int
		tree := int64(0)
		for i := range 900 {
			n := w.nodes[w.names[r.IntN(len(w.names))]]
			switch {
			case i%300 == 100:
				w.kill(w.leader().opt.Node)
			case i%300 == 200:
				for _, name := range w.names {
					if w.nodes[name] == nil {
						w.start(name)
					}
				}
			}
			if n == nil || w.nodes[n.opt.Node] != n {
				continue
			}
			op, kind := randomShared(r)
			res := do(n, op)[0]
			if time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond); kind < 0 {
				continue
			}
			if res.Allowed {
				granted[kind]++
			} else if res.Status == engine.OK {
				denied[kind]++
			}
			if kind == 1 && res.Allowed {
				tree += res.Granted
			}
		}
		most := sharedCapacity*(1+time.Since(began).Seconds()/2*(1+clock.SlewPartsPerMillion/1e6)) + 1
		if float64(tree) > most {
			t.Errorf("the root granted %d, a bucket would have granted %.1f", tree, most)
		}
		w.leader()
		if err := w.agree(); err != nil {
			t.Error(err)
		}
		for i, name := range sharedKinds {
			if granted[i] < 30 || denied[i] == 0 {
				t.Errorf("%s: %d granted, %d denied", name, granted[i], denied[i])
			}
		}
	})
}
