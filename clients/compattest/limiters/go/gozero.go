package main

import (
	"github.com/zeromicro/go-zero/core/limit"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

func goZeroPeriod(address, key string) (call, error) {
	limiter := limit.NewPeriodLimit(2, 5, redis.New(address), "period:")
	return func() (bool, error) {
		state, err := limiter.Take(key)
		return state == limit.Allowed || state == limit.HitQuota, err
	}, nil
}

func goZeroToken(address, key string) (call, error) {
	limiter := limit.NewTokenLimiter(1, 5, redis.New(address), key)
	return func() (bool, error) { return limiter.Allow(), nil }, nil
}
