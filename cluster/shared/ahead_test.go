package shared

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// askedByThree sends requests for a token of a limit to each of three nodes, with a pause before each, while other
// runs. It returns how often each operation was carried out, unless other has cleared the numbers.
func askedByThree(t *testing.T, latency time.Duration, limit limits.Limit, requests int, pause time.Duration, answered func(granted int64), other func(g *groups)) map[engine.Verb]int {
	g := newGroups(t)
	defer g.close()
	g.latency = latency
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 3 {
		l := g.node(ctx)
		defer l.Close()
		clients.Go(func() {
			for range requests {
				time.Sleep(pause)
				clients.Go(func() { answered(g.takeOf(l, limit, 1)) })
			}
		})
	}
	defer cancel()
	other(g)
	clients.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.applied)
}

// onLoans returns how many of the operations were on loans.
func onLoans(applied map[engine.Verb]int) int {
	return applied[engine.Prepare] + applied[engine.Lend] + applied[engine.Deposit]
}

// latencies of each operation.
var latencies = map[string]time.Duration{"fast": 3 * time.Millisecond, "slow": 20 * time.Millisecond}

// Three nodes take tokens of one purse, far below the limit. None is denied, and loans are few: their tokens come
// before the purse is empty.
func TestLoansUnderSteadyLoad(t *testing.T) {
	steady := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10_000, Rate: limits.Rate{Tokens: 10_000, Period: int64(time.Second)}}
	for name, latency := range latencies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				applied := askedByThree(t, latency, steady, 1000, 6*time.Millisecond, func(granted int64) { // 167 a second
					if granted != 1 {
						t.Error("a request is denied")
					}
				}, func(g *groups) {
					time.Sleep(time.Second) // until the demand is known
					g.mu.Lock()
					defer g.mu.Unlock()
					clear(g.applied)
				})
				loans := onLoans(applied)
				if asked := applied[engine.AcquireAll]; asked > 2600 || 1000*loans > 30*asked {
					t.Errorf("%d operations on loans, and %d requests of 2500 and those asked again", loans, asked)
				}
			})
		})
	}
}

// Three nodes ask for three times as much as refills. What refills is granted, no request fails, and a grant costs
// fewer than three operations on loans: mostly half of one, seldom almost two.
func TestLoansBeyondTheLimit(t *testing.T) {
	const rate, seconds = 200, 5
	scarce := limits.Limit{Algorithm: limits.TokenBucket, Capacity: rate, Rate: limits.Rate{Tokens: rate, Period: int64(time.Second)}}
	for name, latency := range latencies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var granted atomic.Int64
				applied := askedByThree(t, latency, scarce, rate*seconds, time.Second/rate, func(n int64) { granted.Add(n) }, func(*groups) {})
				most, loans := int64(rate*(1+seconds)), int64(onLoans(applied))
				t.Logf("%d of %d are granted, by %d operations on loans", granted.Load(), most, loans)
				if granted.Load() < most-rate/3 || granted.Load() > most+rate/10 || loans > 3*most {
					t.Error("too few or too many are granted, or by too many operations")
				}
			})
		})
	}
}
