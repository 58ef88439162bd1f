package clocktest

import (
	"testing"
	"time"

	"github.com/stintdb/stint/server/clock"
)

const slowTick = 10 * time.Millisecond // most by which a timer is late

// Slow returns a clock that needs times as long as the system's for a second, until the end of the test: what a server
// does in a second of it is then more, on any machine.
func Slow(t *testing.T, times int64) *clock.Clock {
	start := time.Now()
	c := clock.NewFromSource(func() int64 { return start.UnixNano() + int64(time.Since(start))/times }, 0)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(slowTick)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				c.Moved()
			}
		}
	}()
	t.Cleanup(func() { close(end); <-ended })
	return c
}
