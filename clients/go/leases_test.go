package stint_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// loanLasts is how long the server waits for a process that holds tokens before it counts them as spent.
const loanLasts = 10 * time.Second

// stops watches for stops of this process after which loans may have ended: tokens that were held then are lost.
type stops struct {
	mu   sync.Mutex
	last time.Time
	lost int64
}

// saw notes that the process runs, and the most tokens that it has held.
func (s *stops) saw(held int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.last.IsZero() || now.Sub(s.last) < loanLasts/2 {
		s.last = now
	} else {
		s.last, s.lost = now, s.lost+2*held // and as many that were on their way
	}
}

// TestLeasesReturnTheRest: unused tokens are back after Close. For a window that is exact, unless the process was
// stopped for longer than a loan lasts; for a bucket, time brings some back meanwhile.
func TestLeasesReturnTheRest(t *testing.T) {
	for name, limit := range map[string]stint.Limit{"bucket": stint.PerDay(100_000), "window": stint.Window(100_000, stint.Starting(time.Hour))} {
		t.Run(name, func(t *testing.T) {
			l, begun := connect(t), time.Now()
			leases := l.Lease(stint.LeaseOptions{})
			used, most := int64(0), int64(0)
			var stopped stops
			for ; used < 20_000; used++ {
				stopped.saw(most)
				if r, err := leases.Allow(t.Context(), t.Name(), limit); err != nil || !r.Allowed || r.Source == stint.Fallback {
					t.Fatalf("%+v, %v", r, err)
				}
				most = max(most, leases.Held(t.Name()))
			}
			if most < 10 {
				t.Errorf("at most %d tokens were held: nothing was leased", most)
			}
			if err := leases.Close(t.Context()); err != nil {
				t.Error(err)
			}
			stopped.saw(most)
			r, err := l.Peek(t.Context(), t.Name(), limit, 1)
			back := int64(0)
			if name == "bucket" {
				back = 1 + int64(100_000*time.Since(begun)/(24*time.Hour))
			}
			if taken := 100_000 - 1 - r.Remaining; err != nil || taken < used-back || taken > used+stopped.lost {
				t.Errorf("%d are taken at the server after %d were used, and %d lost; %v", taken, used, stopped.lost, err)
			}
			if r, err := leases.Allow(t.Context(), t.Name(), limit); err != nil || !r.Allowed || r.Source != stint.Server {
				t.Errorf("after Close: %+v, %v", r, err)
			}
		})
	}
}

// TestLeasesTakeInChunks: the server sees a thousandth of the decisions.
func TestLeasesTakeInChunks(t *testing.T) {
	var requests, taken, returned, alone atomic.Int64
	l := connect(t, stint.WithHooks(stint.Hooks{Lease: func(_ string, n int64) {
		requests.Add(1)
		if n > 0 {
			taken.Add(n)
		} else {
			returned.Add(-n)
		}
	}}))
	leases, begun := l.Lease(stint.LeaseOptions{}), time.Now()
	const decisions = 1_000_000
	limit := stint.PerSecond(100_000_000)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range decisions / 4 {
				r, err := leases.Allow(context.Background(), t.Name(), limit)
				if err != nil || !r.Allowed {
					t.Errorf("%+v, %v", r, err)
					return
				}
				if r.Source == stint.Server {
					alone.Add(1)
				}
			}
		})
	}
	all.Wait()
	if err := leases.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// A chunk is for 100 ms, so a machine that takes long for the decisions needs more of them.
	if n := requests.Load() + alone.Load(); n > decisions/1000+int64(time.Since(begun)/(10*time.Millisecond)) {
		t.Errorf("%d requests for %d decisions", n, decisions)
	}
	if taken.Load()-returned.Load()+alone.Load() < decisions {
		t.Errorf("%d taken, %d given back and %d asked for alone in %d decisions", taken.Load(), returned.Load(), alone.Load(), decisions)
	}
}

// TestLeasesNearTheLimit: several processes use the limit up to the last token, but for those lost by a stop, and not
// one more.
func TestLeasesNearTheLimit(t *testing.T) {
	connect(t)
	const tokens, processes = 20_000, 4
	limit, begun := stint.PerDay(tokens), time.Now()
	var granted atomic.Int64
	var stopped stops
	var all sync.WaitGroup
	for range processes {
		l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
		defer l.Close()
		leases := l.Lease(stint.LeaseOptions{})
		for range 4 {
			all.Go(func() {
				for denied := 0; denied < 1000; {
					stopped.saw(tokens / 4) // with as many on their way, an eighth of the limit for each process
					r, err := leases.Allow(context.Background(), t.Name(), limit)
					if err != nil {
						t.Error(err)
						return
					}
					if r.Allowed {
						granted.Add(1)
					} else {
						denied++
					}
				}
			})
		}
		defer leases.Close(t.Context())
	}
	all.Wait()
	cameIn := 1 + int64(tokens*time.Since(begun)/(24*time.Hour))
	if n := granted.Load(); n < tokens-100-stopped.lost || n > tokens+cameIn {
		t.Errorf("%d let through of %d, and %d that came in", n, tokens, cameIn)
	}
}

func TestLeasesOfOtherLimits(t *testing.T) {
	l := connect(t)
	leases := l.Lease(stint.LeaseOptions{MaxKeys: 2})
	defer leases.Close(t.Context())
	for name, limit := range map[string]stint.Limit{
		"gcra": stint.GCRA(4, 5, 24*time.Hour), "sliding window": stint.SlidingWindow(5, 24*time.Hour), "sliding log": stint.SlidingLog(5, 24*time.Hour),
		"queue": stint.PerDay(5).Queue(3), "quickly full": stint.PerSecond(1000).Burst(2), "short window": stint.Window(5, stint.Starting(50*time.Millisecond)),
	} {
		if r, err := leases.Allow(t.Context(), name, limit); err != nil || !r.Allowed || r.Source != stint.Server {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	var most [4]int64
	for range 1000 { // in turn, because a key that nobody asks for makes room in the end
		for i := range most {
			key := fmt.Sprint("key", i)
			if r, err := leases.Allow(t.Context(), key, stint.PerDay(10_000)); err != nil || !r.Allowed {
				t.Fatalf("key %d: %+v, %v", i, r, err)
			}
			most[i] = max(most[i], leases.Held(key))
		}
	}
	for i, held := range most {
		if (held > 0) != (i < 2) {
			t.Errorf("at most %d tokens were held of key %d, with room for 2", held, i)
		}
	}
	if r, err := leases.AllowN(t.Context(), "key0", stint.PerDay(10_000), 10_001); err != nil || r.Allowed || r.RetryAfter != stint.Never {
		t.Errorf("more than there can be: %+v, %v", r, err)
	}
	if r, err := leases.Allow(t.Context(), "key0", stint.PerDay(50_000)); err != nil || !r.Allowed || r.Limit != 50_000 {
		t.Errorf("another limit on the key: %+v, %v", r, err)
	}
	if _, err := leases.Allow(t.Context(), "gcra", stint.PerDay(5)); err == nil {
		t.Error("no error for a key of another algorithm")
	}
}
