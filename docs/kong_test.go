package docs

import (
	"strings"
	"testing"
)

// The scripts of Kong's plugin rate-limiting with the policy redis, as in kong/plugins/rate-limiting/policies/init.lua
// of Kong 3.10 (Apache-2.0). The first counts a request and returns the count before it; the second, which is for a
// sync_rate above 0, adds the requests that one Kong has counted alone.
const (
	kongUsage = `
        local cache_key, expiration = KEYS[1], ARGV[1]
        local result_incr = redis.call("incr", cache_key)
        if result_incr == 1 then
          redis.call("expire", cache_key, expiration)
        end

        return result_incr - 1
      `
	kongSync = `
      local key, value, expiration = KEYS[1], tonumber(ARGV[1]), ARGV[2]
      local exists = redis.call("exists", key)
      redis.call("incrby", key, value)
      if not exists or exists == 0 then
        redis.call("expireat", key, expiration)
      end
    `
)

// TestKongScripts runs the scripts as the user that the page about gateways gives to Kong.
func TestKongScripts(t *testing.T) {
	var user []string
	for _, line := range readPage(t, gatewaysPage).lines {
		if strings.HasPrefix(line, "> ACL SETUSER kong ") {
			user = strings.Fields(line)[1:]
		}
	}
	p := newPlayer(t)
	defer p.Close()
	ask := func(want string, words ...string) {
		t.Helper()
		var command [][]byte
		for _, word := range words {
			command = append(command, []byte(word))
		}
		if reply, err := p.Do("", command, ""); err != nil || reply != want {
			t.Errorf("%.12q: %s, %v, want %s", words, reply, err, want)
		}
	}
	ask("+OK", user...)
	ask("+OK", "AUTH", "kong", "secret")
	const key = "ratelimit:00000000-0000-0000-0000-000000000000:00000000-0000-0000-0000-000000000000:10.0.0.7:1767323040000:minute"
	for _, count := range []string{"0", "1", "2"} {
		ask(count, "EVAL", kongUsage, "1", key, "60")
	}
	ask("nil", "EVAL", kongSync, "1", key, "4", "1767323100")
	ask("7", "EVAL", kongUsage, "1", key, "60")
}
