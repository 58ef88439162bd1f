package main

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

func redisRate(address, key string) (call, error) {
	limiter := redis_rate.NewLimiter(goRedis(address))
	limit := redis_rate.Limit{Rate: 5, Burst: 5, Period: 5 * time.Second}
	return func() (bool, error) {
		result, err := limiter.Allow(context.Background(), key, limit)
		return err == nil && result.Allowed == 1, err
	}, nil
}
