package main

import (
	"context"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/redis"
)

func ulule(address, key string) (call, error) {
	store, err := redis.NewStore(goRedis(address))
	if err != nil {
		return nil, err
	}
	l := limiter.New(store, limiter.Rate{Limit: 5, Period: 2 * time.Second})
	return func() (bool, error) {
		state, err := l.Get(context.Background(), key)
		return err == nil && !state.Reached, err
	}, nil
}
