package upstream_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/decider"
)

// A settlement by another connection may come before its reservation is made, and be decided after it: home is told
// nevertheless.
func TestSettledBeforeReservedIsAnswered(t *testing.T) {
	home := start(t, "", nil)
	h := dial(t, home.address)
	for amount, want := range map[int]int64{10: 50, 50: 10} { // less than reserved, and more
		came, made := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(made) })
		t.Cleanup(release)
		region := start(t, home.address, func(d decider.Decider) decider.Decider {
			return deciderFunc(func(b *engine.Batch) bool {
				if b.Ops[0].Verb != engine.Settle {
					return d.Decide(b)
				}
				later := b.Clone()
				go func() {
					close(came)
					<-made
					if d.Decide(later) {
						later.Done()
					}
				}()
				return false
			})
		})
		c, other, key := dial(t, region.address), dial(t, region.address), fmt.Sprintf("g:%d", amount)
		fmt.Fprintf(other.conn, "RL.SETTLE id %d\r\n", amount)
		<-came
		for _, command := range []string{"TB.ACQUIRE %s 100 1/6h 30 AS id FOR 1m", "RL.ALL TB %s 100 1/6h TB mine 100 1/6h TOKENS 40"} { // home hears of the first tokens
			if got, failure := c.all(fmt.Sprintf(command, key)); failure != "" || got[0] == 0 {
				t.Fatalf("%s: %v %s", command, got, failure)
			}
		}
		release()
		if got, failure := other.all(""); failure != "" || got[0] != int64(amount) {
			t.Fatalf("a settlement: %v %s", got, failure)
		}
		region.end()
		testwait.Until(t, "home has all that was not used", func() bool { return leftOf(h, key, 100) == want })
	}
}
