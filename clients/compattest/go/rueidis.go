package main

import (
	"errors"

	"github.com/redis/rueidis"
)

type rueidisClient struct {
	rueidis.Client
}

func connectRueidis(address string, protocol int) (client, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:  []string{address},
		ClientName:   clientName,
		AlwaysRESP2:  protocol == 2,
		DisableCache: protocol == 2, // client-side caching needs RESP3; with it, CLIENT TRACKING is part of the handshake
		// One connection: a PING has its reply behind all invalidations.
		PipelineMultiplex: -1,
	})
	return rueidisClient{c}, err
}

func (c rueidisClient) ping() (string, error) { return c.Do(ctx, c.B().Ping().Build()).ToString() }

func (c rueidisClient) info() (string, error) {
	return c.Do(ctx, c.B().ClientInfo().Build()).ToString()
}

func (c rueidisClient) do(args ...string) (any, error) { return c.Do(ctx, c.command(args)).ToAny() }

func (c rueidisClient) pipeline(commands [][]string) []any {
	var batch rueidis.Commands
	for _, command := range commands {
		batch = append(batch, c.command(command))
	}
	var replies []any
	for _, result := range c.DoMulti(ctx, batch...) {
		reply, err := result.ToAny()
		if err != nil {
			reply = err
		}
		replies = append(replies, reply)
	}
	return replies
}

func (c rueidisClient) transaction(commands [][]string) (replies []any, err error) {
	err = c.Dedicated(func(d rueidis.DedicatedClient) error {
		batch := rueidis.Commands{d.B().Multi().Build()}
		for _, command := range commands {
			batch = append(batch, c.command(command))
		}
		batch = append(batch, d.B().Exec().Build())
		results := d.DoMulti(ctx, batch...)
		exec, err := results[len(results)-1].ToArray()
		for _, r := range exec {
			reply, err := r.ToAny()
			if err != nil {
				return err
			}
			replies = append(replies, reply)
		}
		return err
	})
	return replies, err
}

func (c rueidisClient) del(key string) (int64, error) {
	return c.Do(ctx, c.B().Del().Key(key).Build()).AsInt64()
}

func (c rueidisClient) key(key string) (keyState, error) {
	exists, err1 := c.Do(ctx, c.B().Exists().Key(key).Build()).AsInt64()
	kind, err2 := c.Do(ctx, c.B().Type().Key(key).Build()).ToString()
	ttl, err3 := c.Do(ctx, c.B().Ttl().Key(key).Build()).AsInt64()
	pttl, err4 := c.Do(ctx, c.B().Pttl().Key(key).Build()).AsInt64()
	return keyState{exists, kind, ttl, pttl}, errors.Join(err1, err2, err3, err4)
}

func (c rueidisClient) isServerError(err error) bool {
	_, replied := rueidis.IsRedisErr(err)
	return replied
}

func (c rueidisClient) close() { c.Client.Close() }

// command is one that rueidis has no builder for.
func (c rueidisClient) command(args []string) rueidis.Completed {
	return c.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()
}
