package shared

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Three nodes take tokens of one purse, far below the limit: none is denied, and a loan is seldom needed, whose tokens come before the purse is empty.
func TestLoansUnderSteadyLoad(t *testing.T) {
	for name, latency := range map[string]time.Duration{"fast": 3 * time.Millisecond, "slow": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroups(t)
				defer g.close()
				g.latency = latency
				ctx, cancel := context.WithCancel(t.Context())
				steady := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10_000, Rate: limits.Rate{Tokens: 10_000, Period: int64(time.Second)}}
				var clients sync.WaitGroup
				for range 3 {
					l := g.node(ctx)
					defer l.Close()
					clients.Go(func() {
						for range 1000 { // 167 a second
							time.Sleep(6 * time.Millisecond)
							clients.Go(func() {
								if g.takeOf(l, steady, 1) != 1 {
									t.Error("a request is denied")
								}
							})
						}
					})
				}
				defer cancel()
				time.Sleep(time.Second) // until the demand is known
				g.mu.Lock()
				clear(g.applied)
				g.mu.Unlock()
				clients.Wait()
				g.mu.Lock()
				defer g.mu.Unlock()
				loans := g.applied[engine.Prepare] + g.applied[engine.Lend] + g.applied[engine.Deposit]
				if asked := g.applied[engine.AcquireAll]; asked > 2600 || 1000*loans > 30*asked {
					t.Errorf("%d operations on loans, and %d requests of 2500 and those asked again", loans, asked)
				}
			})
		})
	}
}

// Three nodes ask three times as much as refills. What refills is granted, no request fails, and there are fewer operations on loans than grants.
func TestLoansBeyondTheLimit(t *testing.T) {
	for name, latency := range map[string]time.Duration{"fast": 3 * time.Millisecond, "slow": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroups(t)
				defer g.close()
				g.latency = latency
				ctx, cancel := context.WithCancel(t.Context())
				const rate, seconds = 200, 5
				limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: rate, Rate: limits.Rate{Tokens: rate, Period: int64(time.Second)}}
				var clients sync.WaitGroup
				var granted atomic.Int64
				for range 3 {
					l := g.node(ctx)
					defer l.Close()
					clients.Go(func() {
						for range rate * seconds {
							time.Sleep(time.Second / rate)
							clients.Go(func() { granted.Add(g.takeOf(l, limit, 1)) })
						}
					})
				}
				defer cancel()
				clients.Wait()
				g.mu.Lock()
				defer g.mu.Unlock()
				most := int64(rate * (1 + seconds))
				loans := int64(g.applied[engine.Prepare] + g.applied[engine.Lend] + g.applied[engine.Deposit])
				t.Logf("%d of %d are granted, by %d operations on loans", granted.Load(), most, loans)
				if granted.Load() < most-rate/3 || granted.Load() > most+rate/10 || loans > most {
					t.Error("too few or too many are granted, or by too many operations")
				}
			})
		})
	}
}
