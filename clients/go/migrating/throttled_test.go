package migrating

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"

	stint "github.com/stintdb/stint/clients/go"
)

func throttledBefore(ctx context.Context, user string) (bool, time.Duration, error) {
	store, err := goredisstore.NewCtx(rdb, "throttled:")
	if err != nil {
		return false, 0, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerHour(20), MaxBurst: 5}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return false, 0, err
	}
	limited, result, err := limiter.RateLimitCtx(ctx, user, 1)
	return !limited, result.RetryAfter, err
}

func throttledAfter(ctx context.Context, user string) (bool, time.Duration, error) {
	limit := stint.PerHour(20).Burst(6) // MaxBurst + 1
	result, err := limiter.Allow(ctx, "throttled:"+user, limit)
	return result.Allowed, result.RetryAfter, err
}

// TestThrottledPage: the two functions of the page answer alike.
func TestThrottledPage(t *testing.T) {
	for i := range 9 {
		allowed, retry, err := throttledBefore(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		gotAllowed, gotRetry, err := throttledAfter(t.Context(), "page")
		if err != nil || gotAllowed != allowed || !near(gotRetry, max(0, retry)) {
			t.Errorf("request %d: %v %v, %v; throttled: %v %v", i, gotAllowed, gotRetry, err, allowed, retry)
		}
	}
}

// TestThrottled: random requests to random limits, decided by both.
func TestThrottled(t *testing.T) {
	store, err := goredisstore.NewCtx(rdb, "random:")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		count, burst := 1+random.IntN(20), random.IntN(30)
		old, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(count, 1000*time.Hour), MaxBurst: burst})
		if err != nil {
			t.Fatal(err)
		}
		limit := stint.Per(int64(count), 1000*time.Hour).Burst(int64(burst) + 1)
		for range 30 {
			n := 1 + random.IntN(burst+1)
			limited, want, err1 := old.RateLimitCtx(t.Context(), limit.String(), n)
			got, err2 := limiter.AllowN(t.Context(), "random:"+limit.String(), limit, int64(n))
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if got.Allowed == limited || got.Limit != int64(want.Limit) || got.Remaining != int64(want.Remaining) || !near(got.ResetAfter, want.ResetAfter) {
				t.Errorf("%v, %d tokens: %+v; throttled: limited %v, %+v", limit, n, got, limited, want)
			}
			if limited && !near(got.RetryAfter, want.RetryAfter) {
				t.Errorf("%v, %d tokens: retry after %v; throttled: %v", limit, n, got.RetryAfter, want.RetryAfter)
			}
		}
	}
}
