package call

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// A call is expired when its time is over. Before the first and after the last nothing looks for one.
func TestExpireSleepsWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Second
		began, looks := time.Now(), 0
		var w WaitList
		now := func() time.Duration { looks++; return time.Since(began) }
		expired := make(chan *Call)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.Expire(ctx, new(sync.WaitGroup), timeout, now, func(c *Call) { expired <- c })
		for range 3 {
			time.Sleep(time.Hour)
			if looks > 0 {
				t.Fatalf("%d looks in an hour without calls", looks)
			}
			answered, late := &Call{Batch: &engine.Batch{}, Began: time.Since(began)}, &Call{Batch: &engine.Batch{}, Began: time.Since(began)}
			if !w.Add(answered) || !w.Add(late) {
				t.Fatal("refused")
			}
			answered.Claim()
			if c := <-expired; c != late || time.Since(began)-late.Began < timeout || time.Since(began)-late.Began > timeout+timeout/20 {
				t.Fatalf("%p expired %v after its begin, want %p", c, time.Since(began)-late.Began, late)
			}
			synctest.Wait()
			looks = 0
		}
	})
}
