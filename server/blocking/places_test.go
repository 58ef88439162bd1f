package blocking

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// The next client that enters is the one that came first with the time of its priority taken into account, however
// clients come and leave.
func TestPlacesByPriorityAgainstModel(t *testing.T) {
	type client struct {
		*Waiter
		rank int64
	}
	random := rand.New(rand.NewPCG(testsize.Seed(), 7))
	keys, key := startKeys(), [][]byte{[]byte("k")}
	other := keys.Add(0, key, ToTake, func(bool) { t.Error("a client that waits for an element is woken") })
	for range 2 {
		other.Next()
	}
	var all []*client
	var woken *Waiter
	for now := int64(0); now < int64(testsize.Pick(2_000, 20_000)); now++ {
		if len(all) == 0 || random.IntN(2) == 0 {
			priority := random.IntN(MaxPriority + 1)
			c := &client{rank: now*int64(time.Second) - int64(priority)*int64(RiseTime)}
			c.Waiter = keys.Add(now*int64(time.Second), key, ToEnter+Line(priority), func(bool) { woken = c.Waiter })
			all = append(all, c)
		} else {
			i := random.IntN(len(all))
			all[i].Leave()
			all = slices.Delete(all, i, i+1)
		}
		for _, c := range all {
			for range 2 {
				c.Next()
			}
		}
		if woken = nil; len(all) == 0 {
			continue
		}
		keys.first("k", ToEnter).call(true)
		first := slices.MinFunc(all, func(a, b *client) int { return int(a.rank - b.rank) })
		if woken != first.Waiter && woken.arrived != first.rank {
			t.Fatalf("after %d s, a client of rank %d is woken, and not the first, %d", now, woken.arrived, first.rank)
		}
	}
	for _, c := range all {
		c.Leave()
	}
	for i, lines := range keys.lines {
		if len(lines) != 0 && Line(i) != ToTake {
			t.Errorf("%d keys are left in line %d", len(lines), i)
		}
	}
}
