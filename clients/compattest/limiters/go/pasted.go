package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// pasted is a program that limits calls with a script of ../testdata, as people paste them into their code. A script grants
// a call with 1, or with an array that starts with 1.
func pasted(script string, args func() []any) program {
	return program{"github.com/redis/go-redis/v9", func(address, key string) (call, error) {
		text, err := os.ReadFile("../testdata/" + script)
		if err != nil {
			return nil, err
		}
		client, lua := goRedis(address), redis.NewScript(string(text))
		return func() (bool, error) {
			reply, err := lua.Run(context.Background(), client, []string{key}, args()...).Result()
			if array, ok := reply.([]any); ok {
				reply = array[0]
			}
			return reply == int64(1), err
		}, nil
	}}
}

// perSecond are the arguments of a bucket of five tokens that refills with one a second, and the time.
func perSecond() []any { return []any{5, 1, unixSeconds(), 1} }

// inWindow are the arguments of a limit of five in two seconds, and the time.
func inWindow() []any { return []any{5, 2, unixSeconds()} }

func unixSeconds() string {
	return strconv.FormatFloat(float64(time.Now().UnixMicro())/1e6, 'f', 6, 64)
}

// zsetPipeline limits calls to five in two seconds with a log in a sorted set, without Lua.
func zsetPipeline(address, key string) (call, error) {
	client, window := goRedis(address), 2*time.Second
	return func() (bool, error) {
		now := time.Now()
		var calls *redis.IntCmd
		_, err := client.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
			p.ZRemRangeByScore(context.Background(), key, "0", fmt.Sprint(now.Add(-window).UnixNano()))
			calls = p.ZCard(context.Background(), key)
			p.ZAdd(context.Background(), key, redis.Z{Score: float64(now.UnixNano()), Member: now.UnixNano()})
			p.Expire(context.Background(), key, window)
			return nil
		})
		return err == nil && calls.Val() < 5, err
	}, nil
}
