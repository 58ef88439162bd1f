package main

import (
	"context"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
)

func throttledGCRA(address, key string) (call, error) {
	store, err := goredisstore.NewCtx(goRedis(address), "throttled:")
	if err != nil {
		return nil, err
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(1), MaxBurst: 4})
	return func() (bool, error) {
		limited, _, err := limiter.RateLimitCtx(context.Background(), key, 1)
		return err == nil && !limited, err
	}, err
}
