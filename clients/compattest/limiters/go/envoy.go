package main

import (
	"context"
	"math/rand"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/redis"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/envoyproxy/ratelimit/src/utils"
	gostats "github.com/lyft/gostats"
)

func envoy(address, key string) (call, error) {
	s := settings.NewSettings()
	s.RedisSocketType, s.RedisType, s.RedisUrl = "tcp", "SINGLE", address
	metrics := gostats.NewStore(gostats.NewNullSink(), false)
	manager := stats.NewStatManager(metrics, s)
	client := redis.NewClientImpl(metrics, false, "", "tcp", "SINGLE", address, 1, 0, 0, nil, false, nil, patience, "", "")
	cache := redis.NewFixedRateLimitCacheImpl(client, nil, utils.NewTimeSourceImpl(), rand.New(rand.NewSource(1)), 0, nil, 0.8, "", manager, false)
	limit := config.NewRateLimit(5, pb.RateLimitResponse_RateLimit_SECOND, manager.NewStats(key), false, false, false, "", nil, false)
	request := &pb.RateLimitRequest{
		Domain:      "calls",
		Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: "user", Value: key}}}},
	}
	return func() (bool, error) {
		statuses := cache.DoLimit(context.Background(), request, []*config.RateLimit{limit})
		return statuses[0].Code == pb.RateLimitResponse_OK, nil
	}, nil
}
