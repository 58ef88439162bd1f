package stint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// virtual is the time in the bubble of synctest, in nanoseconds since its beginning.
func virtual() int64 { return int64(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) }

// TestLeasesKeepTheLimit: several processes with leases share a limit, with bursts and pauses in which buckets fill up
// while tokens are held, requests and replies that are lost, outages, and processes that crash. The limit holds over
// every span.
func TestLeasesKeepTheLimit(t *testing.T) {
	t.Parallel() // in bubbles, with a clock of their own
	for _, limit := range []Limit{
		PerSecond(100).Burst(50), PerSecond(2000), PerSecond(20).Burst(1000), PerMinute(60).Burst(5), Per(7, 3*time.Second).Burst(300),
		Per(10_007, 10*time.Second).Burst(200), Window(500, Aligned(2*time.Second)), Window(5, Aligned(5*time.Second)),
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(limit.String(), "/", " per "), seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { playLeases(t, limit, seed) })
			})
		}
	}
}

func playLeases(t *testing.T, limit Limit, seed uint64) {
	const processes, callers, length = 4, 5, time.Minute
	m := newModel(limit)
	end := time.Now().Add(length)
	var all sync.WaitGroup
	var allowed, asked int
	var tokens, leased int64
	for process := range processes {
		way := &network{model: m, random: rand.New(rand.NewPCG(seed, uint64(process))), slowest: 5 * time.Millisecond, lossy: 0.02}
		limiter := start(way, newSettings(FailClosed(), []Option{Timeout(50 * time.Millisecond)}), func() error { return nil })
		leases := limiter.Lease(LeaseOptions{})
		crash := end
		if process == 0 {
			crash = time.Now().Add(length / 3)
		}
		var running sync.WaitGroup
		for caller := range callers {
			random := rand.New(rand.NewPCG(seed, uint64(1000*process+caller)))
			running.Go(func() {
				for time.Now().Before(crash) {
					burst, pause := 1+random.IntN(400), time.Duration(random.Int64N(int64(3*time.Second)))
					for range burst {
						n := int64(1)
						if random.IntN(20) == 0 {
							n = 1 + random.Int64N(limit.tokens)
						}
						r, err := leases.AllowN(t.Context(), "k", limit, n)
						if err != nil {
							t.Error(err)
						}
						m.mu.Lock()
						asked++
						m.mu.Unlock()
						if r.Allowed {
							m.mu.Lock()
							if tokens += r.Granted; r.Source == Leased { // the others were charged by the model
								leased += r.Granted
								m.spend(virtual(), r.Granted)
							}
							allowed++
							m.mu.Unlock()
						}
						time.Sleep(time.Duration(random.Int64N(int64(4 * time.Millisecond))))
					}
					if random.IntN(10) == 0 { // out of reach for a while, with tokens in hand
						way.fail(true)
						time.Sleep(pause)
						way.fail(false)
					}
					time.Sleep(pause)
				}
			})
		}
		all.Go(func() {
			running.Wait()
			if process == 0 {
				way.fail(true) // its tokens are lost
			}
			leases.Close(t.Context())
			limiter.Close()
		})
	}
	all.Wait()
	time.Sleep(time.Minute) // background work ends
	synctest.Wait()
	if m.excess > 0 {
		t.Errorf("%d tokens more were let through than %v allows", m.excess, limit)
	}
	possible := float64(limit.tokens) + float64(limit.count)*length.Seconds()/limit.period.Seconds()
	t.Logf("%d of %d requests allowed, %d tokens (%.0f possible), %d of them leased, the server was asked %d times", allowed, asked, tokens, possible, leased, m.asked)
	if leased == 0 && limit.tokens >= 50 {
		t.Error("nothing was leased")
	}
	if float64(tokens) < 0.4*min(possible, float64(asked)) {
		t.Errorf("only %d tokens were let through in %v, of %.0f possible and %d requests", tokens, length, possible, asked)
	}
}

// leasesOf makes leases of a process at some distance to the model.
func leasesOf(t *testing.T, m *model) (*Leases, *network) {
	way := &network{model: m, random: rand.New(rand.NewPCG(1, 1)), slowest: time.Millisecond}
	limiter := start(way, newSettings(FailClosed(), []Option{Timeout(100 * time.Millisecond)}), func() error { return nil })
	leases := limiter.Lease(LeaseOptions{})
	t.Cleanup(func() {
		leases.Close(context.Background())
		limiter.Close()
		time.Sleep(time.Minute) // workers end
	})
	return leases, way
}

// busy asks for one token many times.
func busy(t *testing.T, m *model, leases *Leases, limit Limit, times int, pause time.Duration) {
	t.Helper()
	for range times {
		r, err := leases.Allow(t.Context(), "k", limit)
		if err != nil {
			t.Fatal(err)
		}
		if r.Allowed && r.Source == Leased {
			m.do(func(now int64) { m.spend(now, 1) })
		}
		time.Sleep(pause)
	}
}

// TestClosedLeases: after Close each request goes to the server, also one that was denied from memory before.
func TestClosedLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := PerHour(8)
		leases, _ := leasesOf(t, newModel(limit))
		ask := func() Result {
			r, err := leases.Allow(t.Context(), "k", limit)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for ask().Allowed {
		}
		if r := ask(); r.Source != Leased {
			t.Errorf("after a denial, %v answered", r.Source)
		}
		if err := leases.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := ask(); r.Allowed || r.Source != Server {
			t.Errorf("after Close, the answer is %+v", r)
		}
	})
}

// TestRefundBySomebodyElse: another process gets a large reservation back while this one holds tokens, and goes on to
// ask for few. The bucket and this process together never have more than the capacity.
func TestRefundBySomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := PerSecond(1000).Burst(100_000)
		m := newModel(limit)
		leases, _ := leasesOf(t, m)
		m.do(func(now int64) { m.acquire(now, limit, 80_000) })
		busy(t, m, leases, limit, 5000, 100*time.Microsecond)
		if leases.Held("k") == 0 {
			t.Fatal("nothing is held")
		}
		m.do(func(now int64) { m.refund(now, 80_000) })
		for range 40 {
			busy(t, m, leases, limit, 1, 200*time.Millisecond)
			m.do(func(now int64) {
				if held, level := leases.Held("k"), m.available(now); held+level > limit.tokens {
					t.Errorf("%d in memory and %d in a bucket of %d", held, level, limit.tokens)
				}
			})
		}
		held := leases.Held("k")
		if held == 0 {
			t.Error("nothing is held in the end: the loan was not renewed")
		}
		m.do(func(now int64) { m.acquire(now, limit, m.available(now)) })
		busy(t, m, leases, limit, int(held), 0)
		if m.excess > 0 {
			t.Errorf("%d tokens more than the limit", m.excess)
		}
	})
}

// TestLeasesOfAnOlderServer: requests go to the server one by one.
func TestLeasesOfAnOlderServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := PerSecond(1000).Burst(100_000)
		m := newModel(limit)
		leases, way := leasesOf(t, m)
		way.old = true
		busy(t, m, leases, limit, 1000, time.Millisecond)
		if m.asked != 1000 || way.lends != 1 {
			t.Errorf("%d requests, and %d for tokens to lend", m.asked, way.lends)
		}
	})
}

func TestCeilMulDiv(t *testing.T) {
	for _, c := range [][4]int64{{10, 3, 4, 8}, {8, 3, 4, 6}, {1 << 40, 1 << 40, 1 << 41, 1 << 39}, {1 << 62, 1 << 62, 1, 1<<62 - 1}} {
		if got := ceilMulDiv(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("ceil(%d × %d / %d) = %s, want %d", c[0], c[1], c[2], strconv.FormatInt(got, 10), c[3])
		}
	}
}
