package main

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// database checks that a number in the address chooses a database, on every connection.
func (t *contract) database(address string) {
	in := map[string]*redis.Client{}
	for _, number := range []string{"0", "5"} {
		options, err := redis.ParseURL("redis://" + address + "/" + number)
		if !t.check(err == nil, "the address with database %s: %v", number, err) {
			return
		}
		in[number] = redis.NewClient(options)
		defer in[number].Close()
		err = in[number].Set(ctx, t.name, "in "+number, 0).Err()
		t.check(err == nil, "SET in database %s: %v", number, err)
	}
	for number, c := range in {
		got, err := c.Get(ctx, t.name).Result()
		t.check(err == nil && got == "in "+number, "GET in database %s: got %q, %v", number, got, err)
		info, err := c.Do(ctx, "CLIENT", "INFO").Text()
		t.check(err == nil && strings.Contains(info, " db="+number+" "), "CLIENT INFO in database %s: got %q, %v", number, info, err)
		n, err := c.Del(ctx, t.name).Result()
		t.check(err == nil && n == 1, "DEL in database %s: got %d, %v", number, n, err)
	}
}
