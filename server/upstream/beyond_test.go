package upstream_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/internal/testwait"
)

// Callers ask a region for more than a limit that refills within a second. The region grants what it is lent, and denies
// the rest by itself: home hears of hardly any request.
func TestHomeHearsOfFewRequestsBeyondTheLimit(t *testing.T) {
	region := start(t, start(t, "", nil).address, nil)
	var callers sync.WaitGroup
	var ended atomic.Bool
	for range 8 {
		c := dial(t, region.address)
		callers.Go(func() {
			for !ended.Load() {
				if _, failure := c.do("TB.ACQUIRE g:1 500 500/s"); failure != "" {
					t.Error(failure)
					return
				}
			}
		})
	}
	status := region.upstream.Status
	testwait.Until(t, "tokens are granted from loans", func() bool { return status().Local > 200 })
	testwait.Until(t, "denials are repeated", func() bool { return status().Repeated > 100 })
	before := status()
	testwait.Until(t, "denials are repeated", func() bool { return status().Repeated > before.Repeated+5000 })
	after := status()
	ended.Store(true)
	callers.Wait()
	t.Logf("%+v", after)
	if asked := after.Asked - before.Asked; asked > 20 {
		t.Errorf("home was asked about %d of %d requests", asked, after.Repeated-before.Repeated+asked)
	}
}
