package cluster

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// hotLoad is the outcome of a load on one key, a token bucket of 10,000 at 10,000/s, with the same load at three nodes.
type hotLoad struct {
	granted, failed int64
	asked           int64
	logged          int64 // operations in the log
	ideal           int64 // the grants of one bucket
}

const (
	hotLoadCapacity = 10_000
	hotLoadFor      = 2 * time.Second
	hotLoadWarm     = time.Second // before operations in the log are counted
)

// loadHotKey asks for one key at a rate, whatever the answers are. A sync takes some time, a message a fifth of it.
func loadHotKey(t *testing.T, perSecond int, syncTime time.Duration) (load hotLoad) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, leader, _ := simulateHeld(t)
		defer s.stop()
		for from, disk := range s.disks {
			disk.SetDelay(syncTime)
			for _, to := range s.names {
				if to != from {
					s.net.SetDelay(from, to, syncTime/5)
				}
			}
		}
		var asked, granted, failed, open atomic.Int64
		var clients sync.WaitGroup
		pause := time.Second * time.Duration(len(s.nodes)) / time.Duration(perSecond)
		began := time.Now()
		for _, n := range s.nodes {
			clients.Go(func() {
				for time.Since(began) < hotLoadFor {
					op := acquire("k", hotLoadCapacity, 1)
					op.Limit.Rate = limits.Rate{Tokens: hotLoadCapacity, Period: int64(time.Second)}
					b := &engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1)}
					open.Add(1)
					b.Done = func() {
						switch res := &b.Results[0]; {
						case res.Status != engine.OK:
							failed.Add(1)
						case res.Allowed:
							granted.Add(1)
						}
						open.Add(-1)
					}
					if decide(n, b) {
						b.Done()
					}
					asked.Add(1)
					time.Sleep(pause)
				}
			})
		}
		time.Sleep(hotLoadWarm)
		warm, before := granted.Load(), leader.Group().Status().Decisions
		clients.Wait()
		counted := granted.Load() - warm
		logged := leader.Group().Status().Decisions - before
		load.logged = logged * 1000 / max(1, counted)
		time.Sleep(2 * time.Second)
		load.asked, load.granted, load.failed = asked.Load(), granted.Load(), failed.Load()
		load.ideal = min(load.asked, hotLoadCapacity+int64(hotLoadCapacity*hotLoadFor.Seconds()))
		if open.Load() != 0 {
			t.Errorf("%d requests have no answer", open.Load())
		}
	})
	return load
}

// Bounds on the work of the log for a hot key, and on the grants that are lost to tokens which other nodes hold.
// Decision 0021 has the figures.
func TestLogOperationsOfAHotKey(t *testing.T) {
	for name, c := range map[string]struct {
		perSecond    int
		syncTime     time.Duration
		mostLogged   int64 // operations for 1,000 grants
		leastGranted float64
	}{
		"under its limit":                      {6_000, 750 * time.Microsecond, 5, 1},
		"three times beyond":                   {30_000, 750 * time.Microsecond, 120, 0.995},
		"three times beyond, with a fast disk": {30_000, 50 * time.Microsecond, 150, 0.995},
	} {
		t.Run(name, func(t *testing.T) {
			load := loadHotKey(t, c.perSecond, c.syncTime)
			share := float64(load.granted) / float64(load.ideal)
			t.Logf("%d asked, %d granted, %.2f %% of one bucket; %d operations in the log for 1,000 grants", load.asked,
				load.granted, 100*share, load.logged)
			if load.failed > 0 || load.logged > c.mostLogged || share < c.leastGranted || load.granted > hotLoadCapacity+
				int64(hotLoadCapacity*(hotLoadFor+time.Second).Seconds()) {
				t.Errorf("%+v", load)
			}
		})
	}
}
