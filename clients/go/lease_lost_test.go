package stint

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLeasesWithoutServer: tokens in memory can be spent, and then the fallback decides.
func TestLeasesWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := PerDay(1_000_000)
		m := newModel(limit)
		leases, way := leasesOf(t, m)
		for leases.Held("k") <= 100 {
			busy(t, m, leases, limit, 10, 100*time.Microsecond)
		}
		way.fail(true)
		held := leases.Held("k")
		for leased := int64(0); ; leased++ {
			r, err := leases.Allow(t.Context(), "k", limit)
			if err != nil {
				t.Fatal(err)
			}
			if r.Source == Leased && r.Allowed && leased < held {
				continue
			}
			if r.Source != Fallback || r.Allowed || r.Cause == nil || leased != held {
				t.Fatalf("after %d of %d tokens in memory: %+v", leased, held, r)
			}
			return
		}
	})
}

// TestLateAnswer: tokens of an answer that comes after its request was given up are not spent. They are charged with
// the next operation.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := PerHour(10).Burst(100_000)
		m := newModel(limit)
		leases, way := leasesOf(t, m)
		busy(t, m, leases, limit, 10, 2*time.Millisecond)
		held := leases.Held("k")
		if held == 0 {
			t.Fatal("nothing is held")
		}
		way.slowDown(200 * time.Millisecond)
		busy(t, m, leases, limit, int(held)+1, 0) // the last is not answered in time
		time.Sleep(time.Second)
		if n := leases.Held("k"); n != 0 {
			t.Errorf("%d are held of an answer that was late", n)
		}
		way.slowDown(0)
		busy(t, m, leases, limit, 20, 2*time.Millisecond)
		if leases.Held("k") == 0 {
			t.Error("nothing is lent after the loss")
		}
		if err := leases.Close(t.Context()); err != nil {
			t.Error(err)
		}
		m.do(func(now int64) {
			if n := m.lentSum(now); n > 0 {
				t.Errorf("%d tokens are set aside after Close", n)
			}
		})
	})
}

// TestLostReturn: a return that was lost is sent again with the next use, or by Close, so that no token is lost with
// it.
func TestLostReturn(t *testing.T) {
	for _, next := range []string{"use", "close"} {
		t.Run(next, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := PerHour(10).Burst(100_000)
				m := newModel(limit)
				leases, way := leasesOf(t, m)
				busy(t, m, leases, limit, 100, 2*time.Millisecond)
				if leases.Held("k") == 0 {
					t.Fatal("nothing is held")
				}
				way.fail(true)
				time.Sleep(3 * tidyEvery)
				if held := leases.Held("k"); held != 0 {
					t.Fatalf("%d are still held", held)
				}
				m.do(func(now int64) {
					if m.lentSum(now) == 0 {
						t.Fatal("the return was not lost")
					}
				})
				way.fail(false)
				if next == "use" {
					busy(t, m, leases, limit, 50, 2*time.Millisecond)
				}
				if err := leases.Close(t.Context()); err != nil {
					t.Error(err)
				}
				m.do(func(now int64) {
					if lent, taken, used := m.lentSum(now), m.taken(now), m.exact.taken(now); lent > 0 || taken != used {
						t.Errorf("%d are lent, and %d taken, of which %d were used", lent, taken, used)
					}
				})
			})
		})
	}
}
