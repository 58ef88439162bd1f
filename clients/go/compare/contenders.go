package main

import (
	"context"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	stint "github.com/stintdb/stint/clients/go"
)

// A contender asks for one token of the limit, and returns whether it got it.
type contender struct {
	name  string
	allow func(ctx context.Context, key string) (bool, error)
	close func()
}

// servers are the addresses of the contenders' servers.
type servers struct{ stint, redis string }

// The names of the contenders.
const (
	inProcess      = "x/time/rate"
	inProcessShare = "x/time/rate, 1/8 each"
	onRedis        = "redis_rate"
	asked          = "stint"
	leased         = "stint, leased"
)

// start makes a contender with a limit of perSecond tokens a second, and a burst of the same number.
func start(name string, at servers, perSecond int, options ...stint.Option) contender {
	switch name {
	case inProcess, inProcessShare:
		limit, burst := rate.Limit(perSecond), perSecond
		if name == inProcessShare {
			limit, burst = limit/processes, burst/processes
		}
		limiter := rate.NewLimiter(limit, burst)
		return contender{name, func(context.Context, string) (bool, error) { return limiter.Allow(), nil }, func() {}}
	case onRedis:
		client := redis.NewClient(&redis.Options{Addr: at.redis})
		limiter, limit := redis_rate.NewLimiter(client), redis_rate.PerSecond(perSecond)
		return contender{name, func(ctx context.Context, key string) (bool, error) {
			r, err := limiter.Allow(ctx, key, limit)
			return err == nil && r.Allowed > 0, err
		}, func() { client.Close() }}
	}
	limiter := stint.Connect([]string{at.stint}, stint.FailClosed(), options...)
	limit := stint.PerSecond(int64(perSecond))
	if name == asked {
		return contender{name, func(ctx context.Context, key string) (bool, error) {
			r, err := limiter.Allow(ctx, key, limit)
			if err == nil {
				err = r.Cause
			}
			return r.Allowed, err
		}, func() { limiter.Close() }}
	}
	leases := limiter.Lease(stint.LeaseOptions{})
	return contender{name, func(ctx context.Context, key string) (bool, error) {
		r, err := leases.Allow(ctx, key, limit)
		if err == nil {
			err = r.Cause
		}
		return r.Allowed, err
	}, func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		leases.Close(ctx)
		limiter.Close()
	}}
}
