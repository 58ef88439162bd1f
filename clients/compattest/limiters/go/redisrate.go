package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// redisRateClient is that of all keys. With several addresses it is a client for clusters.
var redisRateClient = sync.OnceValue(func() redis.UniversalClient {
	return redis.NewUniversalClient(&redis.UniversalOptions{Addrs: strings.Split(os.Args[2], ","), ReadTimeout: patience})
})

func redisRate(_, key string) (call, error) {
	limiter := redis_rate.NewLimiter(redisRateClient())
	limit := redis_rate.Limit{Rate: 5, Burst: 5, Period: 5 * time.Second}
	if len(os.Args) > 4 {
		calls, _ := strconv.Atoi(os.Args[3])
		seconds, _ := strconv.Atoi(os.Args[4])
		limit = redis_rate.Limit{Rate: calls, Burst: calls, Period: time.Duration(seconds) * time.Second}
	}
	return func() (bool, error) {
		result, err := limiter.Allow(context.Background(), key, limit)
		return err == nil && result.Allowed == 1, err
	}, nil
}
