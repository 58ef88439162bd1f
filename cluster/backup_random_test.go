package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// Backups of random nodes, while all nodes are asked, hold tokens, and leaders change: no key has more tokens in a
// backup than are left after the grants acknowledged before it was begun.
func TestBackupsNeverHaveMoreTokens(t *testing.T) {
	const keys, capacity = 8, 800_000
	for seed := range uint64(testsize.Pick(2, 10)) {
		synctest.Test(t, func(t *testing.T) {
			s, _, _ := simulateHeld(t)
			defer s.stop()
			for _, from := range s.names {
				for _, to := range s.names {
					if from != to {
						s.net.SetDelay(from, to, 2*time.Millisecond)
					}
				}
			}
			var mu sync.Mutex
			var granted [keys]int64
			acknowledged := func() [keys]int64 {
				mu.Lock()
				defer mu.Unlock()
				return granted
			}
			op := func(key int) engine.Op {
				o := acquire(fmt.Sprint("k", key), capacity, 1)
				if key%2 == 1 {
					o.Limit = limits.Limit{Algorithm: limits.FixedWindow, Span: limits.FromFirst, Capacity: capacity,
						Rate: limits.Rate{Period: 24 * int64(time.Hour)}}
				}
				return o
			}
			var asking sync.WaitGroup
			stop := make(chan struct{})
			for i, name := range s.names {
				n, r := s.nodes[name], rand.New(rand.NewPCG(seed, uint64(i)))
				asking.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(time.Duration(r.IntN(3000)) * time.Microsecond):
						}
						key := min(r.IntN(keys), r.IntN(keys))
						if res := do(n, op(key)); res[0].Status == engine.OK {
							mu.Lock()
							granted[key] += res[0].Granted
							mu.Unlock()
						}
					}
				})
			}
			r, held := rand.New(rand.NewPCG(seed, 99)), int64(0)
			for round := range 12 {
				time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
				n := s.nodes[s.names[r.IntN(3)]]
				held += n.Group().Status().LentTokens
				before := acknowledged()
				store := backup(t, n)
				for k := range keys {
					results := make([]engine.Result, 1)
					o := op(k)
					store.Apply(n.Group().Now(), []engine.Op{{Verb: engine.Look, Key: o.Key}}, results)
					if left := results[0].Remaining + results[0].Lent; before[k] > 0 && left > capacity-before[k] {
						t.Errorf("seed %d, round %d, %s: %d were granted of key %d before the backup, and it has %d of %d", seed, round,
							n.opt.Node, before[k], k, left, capacity)
					}
				}
				if round%4 == 3 {
					_ = s.leader().Group().Transfer(t.Context(), "")
				}
			}
			close(stop)
			asking.Wait()
			if total := acknowledged(); total[0] < 1000 || held == 0 {
				t.Errorf("seed %d: %v granted, %d held: too little was tried", seed, total, held)
			}
			s.mustNotFail()
		})
	}
}
