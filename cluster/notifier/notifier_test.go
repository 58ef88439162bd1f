package notifier

import (
	"testing"
	"testing/synctest"
	"time"
)

// A broadcast wakes all goroutines that wait, at once, and no others. It allocates nothing while nobody waits.
func TestBroadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n Notifier
		began, woken := time.Now(), make(chan struct{}, 3)
		for range 3 {
			changed := n.Wait()
			go func() {
				Pause(t.Context(), changed, time.Hour)
				woken <- struct{}{}
			}()
		}
		synctest.Wait()
		if len(woken) != 0 {
			t.Error("woken before the broadcast")
		}
		n.Broadcast()
		synctest.Wait()
		if len(woken) != 3 || time.Since(began) != 0 {
			t.Errorf("%d of 3 were woken after %v", len(woken), time.Since(began))
		}
		Pause(t.Context(), n.Wait(), time.Second)
		if time.Since(began) != time.Second {
			t.Error("an earlier broadcast ends a later wait")
		}
		calls := 0
		n.Call(func() { calls++ })
		n.Broadcast()
		if calls != 2 {
			t.Errorf("%d calls, want one at once and one by the broadcast", calls)
		}
	})
	var n Notifier
	if allocs := testing.AllocsPerRun(100, n.Broadcast); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
