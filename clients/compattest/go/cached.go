package main

import (
	"time"

	"github.com/redis/rueidis"
)

// cacher is a client with a cache that the server invalidates.
type cacher interface {
	// cached returns a counter, from the cache if it is there, and whether it was.
	cached(key string) (n int64, hit bool, err error)
}

// cached reads a counter through the client's cache, which others count up: however often it is read, a limit of it grants no more than it has.
func (t *contract) cached() {
	c, ok := t.client.(cacher)
	if !ok || t.protocol != 3 {
		return
	}
	key := t.fresh("cached")
	other, err := t.connect()
	if !t.check(err == nil, "connect: %v", err) {
		return
	}
	defer other.close()
	granted, hits := 0, 0
	for range 1000 {
		n, hit, err := c.cached(key)
		if !t.check(err == nil, "DoCache: %v", err) {
			return
		}
		if hit {
			hits++
		}
		if n >= 20 {
			continue
		}
		by := t.client
		if granted%2 == 1 {
			by = other
		}
		_, err = by.do("INCR", key)
		t.check(err == nil, "INCR: %v", err)
		_, err = t.client.ping() // all earlier changes are invalid behind its reply
		t.check(err == nil, "PING: %v", err)
		granted++
	}
	t.check(granted == 20, "a limit of 20 that is read through the cache grants %d", granted)
	t.check(hits >= 900, "of 1000 reads %d are answered by the cache", hits)
}

func (c rueidisClient) cached(key string) (n int64, hit bool, err error) {
	r := c.DoCache(ctx, c.B().Get().Key(key).Cache(), time.Minute)
	if n, err = r.AsInt64(); rueidis.IsRedisNil(err) {
		n, err = 0, nil
	}
	return n, r.IsCacheHit(), err
}
