package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

type goRedis struct {
	redis.UniversalClient
}

var ctx = context.Background()

// patience is longer than a busy machine takes for a reply: after the usual three seconds go-redis would send a command again.
const patience = time.Minute

func connectGoRedis(address string, protocol int) (client, error) {
	return goRedis{redis.NewClient(&redis.Options{Addr: address, Protocol: protocol, ClientName: clientName, ReadTimeout: patience})}, nil
}

func connectGoRedisCluster(addresses []string, protocol int) (client, error) {
	return goRedis{redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, Protocol: protocol, ClientName: clientName, ReadTimeout: patience})}, nil
}

// transferLeadership has another node of the cluster lead, asked of one node alone.
func transferLeadership(address string) error {
	c := redis.NewClient(&redis.Options{Addr: address, ReadTimeout: patience})
	defer c.Close()
	return c.Do(ctx, "RAFT", "TRANSFER").Err()
}

func (c goRedis) ping() (string, error) { return c.Ping(ctx).Result() }

func (c goRedis) info() (string, error) { return c.Do(ctx, "CLIENT", "INFO").Text() }

func (c goRedis) do(args ...string) (any, error) { return c.Do(ctx, anys(args)...).Result() }

func (c goRedis) pipeline(commands [][]string) []any {
	results, _ := c.Pipelined(ctx, func(p redis.Pipeliner) error { // its error is the first command's, read below
		for _, command := range commands {
			p.Do(ctx, anys(command)...)
		}
		return nil
	})
	var replies []any
	for _, r := range results {
		reply, err := r.(*redis.Cmd).Result()
		if err != nil {
			reply = err
		}
		replies = append(replies, reply)
	}
	return replies
}

func (c goRedis) transaction(commands [][]string) ([]any, error) {
	results, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, command := range commands {
			p.Do(ctx, anys(command)...)
		}
		return nil
	})
	var replies []any
	for _, r := range results {
		replies = append(replies, r.(*redis.Cmd).Val())
	}
	return replies, err
}

// raise adds 1 to a number by WATCH, again until nobody else has changed it meanwhile.
func (c goRedis) raise(key string) error {
	for {
		err := c.Watch(ctx, func(tx *redis.Tx) error {
			n, err := tx.Get(ctx, key).Int64()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Set(ctx, key, n+1, 0)
				return nil
			})
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

func (c goRedis) number(key string) (int64, error) { return c.Get(ctx, key).Int64() }

func (c goRedis) del(key string) (int64, error) { return c.Del(ctx, key).Result() }

func (c goRedis) key(key string) (keyState, error) {
	exists, err1 := c.Exists(ctx, key).Result()
	kind, err2 := c.Type(ctx, key).Result()
	ttl, err3 := c.TTL(ctx, key).Result()
	pttl, err4 := c.PTTL(ctx, key).Result()
	s := keyState{exists, kind, int64(ttl / time.Second), int64(pttl / time.Millisecond)}
	if ttl < 0 { // go-redis hands on -1 and -2 as they came, without a unit
		s.ttl, s.pttl = int64(ttl), int64(pttl)
	}
	return s, errors.Join(err1, err2, err3, err4)
}

func (c goRedis) isServerError(err error) bool {
	var replied redis.Error
	return errors.As(err, &replied)
}

func (c goRedis) close() { c.UniversalClient.Close() }

// anys is args as the libraries' untyped calls take them.
func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}
