package migrating

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"

	stint "github.com/stintdb/stint/clients/go"
)

func redisRateBefore(ctx context.Context, user string) (bool, time.Duration, error) {
	limiter := redis_rate.NewLimiter(rdb)
	res, err := limiter.AllowN(ctx, "user:"+user, redis_rate.PerHour(10), 1)
	if err != nil {
		return false, 0, err // Redis is down: what now?
	}
	return res.Allowed > 0, res.RetryAfter, nil
}

func redisRateAfter(ctx context.Context, user string) (bool, time.Duration, error) {
	res, err := limiter.AllowN(ctx, "user:"+user, stint.PerHour(10), 1)
	if err != nil {
		return false, 0, err // a mistake in the call
	}
	return res.Allowed, res.RetryAfter, nil
}

// TestRedisRatePage: the two functions of the page answer alike.
func TestRedisRatePage(t *testing.T) {
	for i := range 12 {
		allowed, retry, err := redisRateBefore(t.Context(), "page")
		if err != nil {
			t.Fatal(err)
		}
		gotAllowed, gotRetry, err := redisRateAfter(t.Context(), "page")
		if err != nil || gotAllowed != allowed || !near(gotRetry, max(0, retry)) {
			t.Errorf("request %d: %v %v, %v; redis_rate: %v %v", i, gotAllowed, gotRetry, err, allowed, retry)
		}
	}
}

// TestRedisRate: random requests to random limits, which refill too slowly to matter, decided by both.
func TestRedisRate(t *testing.T) {
	old := redis_rate.NewLimiter(rdb)
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		rate, burst := 1+random.IntN(20), 1+random.IntN(30)
		before := redis_rate.Limit{Rate: rate, Burst: burst, Period: 1000 * time.Hour}
		after := stint.Per(int64(rate), 1000*time.Hour).Burst(int64(burst))
		key := t.Name() + before.String() + after.String()
		for range 30 {
			n := 1 + random.IntN(burst)
			atMost := random.IntN(3) == 0
			var want *redis_rate.Result
			var got stint.Result
			var err1, err2 error
			if atMost {
				want, err1 = old.AllowAtMost(t.Context(), key, before, n)
				got, err2 = limiter.AllowAtMost(t.Context(), key, after, int64(n))
			} else {
				want, err1 = old.AllowN(t.Context(), key, before, n)
				got, err2 = limiter.AllowN(t.Context(), key, after, int64(n))
			}
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			// redis_rate has 0 remaining in every denial, and for want of precision sometimes one too few.
			sameRemaining := got.Remaining == int64(want.Remaining) || got.Remaining == int64(want.Remaining)+1 || (!got.Allowed && want.Remaining == 0)
			if got.Granted != int64(want.Allowed) || got.Allowed != (want.Allowed > 0) || !sameRemaining ||
				!near(got.ResetAfter, want.ResetAfter) || (got.Allowed && want.RetryAfter != -1) {
				t.Errorf("%v, %d tokens, at most: %v: %+v; redis_rate: %+v", before, n, atMost, got, want)
			}
			if !got.Allowed && !near(got.RetryAfter, want.RetryAfter) {
				t.Errorf("%v, %d tokens, at most: %v: retry after %v; redis_rate: %v", before, n, atMost, got.RetryAfter, want.RetryAfter)
			}
		}
		if err := old.Reset(t.Context(), key); err != nil {
			t.Error(err)
		}
		if err := limiter.Reset(t.Context(), key); err != nil {
			t.Error(err)
		}
		if got, err := limiter.Peek(t.Context(), key, after, 1); err != nil || got.Remaining != int64(burst)-1 {
			t.Errorf("after Reset: %+v, %v", got, err)
		}
	}
}
