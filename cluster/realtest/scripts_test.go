//go:build e2e

package realtest

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// scriptLimit is the number of requests that each key admits. Its window is longer than the test.
const scriptLimit = 60

// A scriptLimiter is a script as a limiter library sends it, and the rule by which the library reads the reply.
type scriptLimiter struct {
	name, body string
	args       []string
	admits     func(reply) bool
}

var scriptLimiters = []scriptLimiter{
	{"fixed window of rate-limiter-flexible", `redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('incrby', KEYS[1], ARGV[1])
local ttl = redis.call('pttl', KEYS[1])
if ttl == -1 then
  redis.call('expire', KEYS[1], ARGV[2])
  ttl = 1000 * ARGV[2]
end
return {consumed, ttl}`, []string{"1", "36000"}, func(r reply) bool { return r.items[0].integer <= scriptLimit }},

	{"GCRA of redis_rate", `redis.replicate_commands()
local burst, interval, cost = tonumber(ARGV[1]), ARGV[3] / ARGV[2], tonumber(ARGV[4])
local jan_1_2017 = 1483228800
local now = redis.call('TIME')
now = (now[1] - jan_1_2017) + (now[2] / 1000000)
local tat = redis.call('GET', KEYS[1])
tat = math.max(tat and tonumber(tat) or now, now)
local new_tat = tat + interval * cost
local diff = now - (new_tat - interval * burst)
local remaining = diff / interval
if remaining < 0 then
  return {0, 0, tostring(-diff), tostring(tat - now)}
end
local reset_after = new_tat - now
if reset_after > 0 then
  redis.call('SET', KEYS[1], new_tat, 'EX', math.ceil(reset_after))
end
return {cost, remaining, tostring(-1), tostring(reset_after)}`, []string{fmt.Sprint(scriptLimit), "1", "36000", "1"}, func(r reply) bool { return r.items[0].integer == 1 }},
}

func (l *scriptLimiter) call(key string) []string {
	digest := sha1.Sum([]byte(l.body))
	return append([]string{"EVALSHA", hex.EncodeToString(digest[:]), "1", key}, l.args...)
}

// scriptLoad is clients that call the script limiters, and counts of the replies to them, by key.
type scriptLoad struct {
	t       *testing.T
	stopped atomic.Bool
	running sync.WaitGroup
	round   atomic.Int64 // each round has separate keys

	mu                sync.Mutex
	admitted, unknown map[string]int
	denied            int
}

const scriptKeys = 8 // of each limiter, in one round

func scriptKey(limiter, round, key int) string {
	return fmt.Sprintf("script:%d:%d:%d", limiter, round, key)
}

// client calls limiters on one node until the load is stopped.
func (l *scriptLoad) client(n *node, r *rand.Rand) {
	var c *conn
	var err error
	for !l.stopped.Load() {
		if c == nil {
			if c, err = dial(n.Address); err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
		}
		at := r.IntN(len(scriptLimiters))
		limiter, key := &scriptLimiters[at], scriptKey(at, int(l.round.Load()), r.IntN(scriptKeys))
		var answer reply
		if err = c.send(limiter.call(key)); err == nil {
			answer, err = readReply(c.in)
		}
		l.note(limiter, key, answer, err)
		var told serverError
		if err != nil && !errors.As(err, &told) {
			_ = c.Close()
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
}

func (l *scriptLoad) note(limiter *scriptLimiter, key string, answer reply, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told serverError
	switch {
	case err == nil && len(answer.items) < 2:
		l.t.Errorf("%s: the reply %+v", limiter.name, answer)
	case err == nil && limiter.admits(answer):
		l.admitted[key]++
	case err == nil:
		l.denied++
	case isRefused(err):
	case isUncertain(err) || !errors.As(err, &told):
		l.unknown[key]++ // the limiter may have admitted it
	default:
		l.t.Errorf("%s is answered with %v", limiter.name, err)
	}
}

// Limiters made of scripts admit no more than their limit when leaders are killed, and no less, except that a request of
// unknown outcome may have been admitted. The scripts are loaded once, on the first leader; later leaders know them too.
func TestScriptLimitersThroughFailover(t *testing.T) {
	c := startCluster(t)
	for _, limiter := range scriptLimiters {
		if _, err := ask(c.leader().Address, "SCRIPT", "LOAD", limiter.body); err != nil {
			t.Fatal(err)
		}
	}
	l := &scriptLoad{t: t, admitted: map[string]int{}, unknown: map[string]int{}}
	t.Logf("seed: -seed %d", *seed)
	for i := range 24 {
		l.running.Go(func() { l.client(c.nodes[c.names[i%len(c.names)]], rand.New(rand.NewPCG(*seed, uint64(i)))) })
	}
	rounds := 2 * *failovers
	for round := range rounds {
		c.awaitWhole()
		l.round.Store(int64(round))
		await(t, "requests before the leader goes", func() bool { return l.admittedIn(round) > scriptKeys*scriptLimit/4 })
		leader := c.leader()
		if err := leader.End(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, "the keys to be used up", func() bool { return l.admittedIn(round) > 2*scriptKeys*scriptLimit*9/10 })
		leader.Start(t)
		c.awaitAll()
	}
	l.stopped.Store(true)
	l.running.Wait()
	l.check(c, rounds)
}

// admittedIn is the number of requests admitted on the keys of a round.
func (l *scriptLoad) admittedIn(round int) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range scriptLimiters {
		for key := range scriptKeys {
			n += l.admitted[scriptKey(i, round, key)] + l.unknown[scriptKey(i, round, key)]
		}
	}
	return n
}

// check calls the limiter of every key until it denies, and compares the number of admitted requests with the limit.
func (l *scriptLoad) check(c *processes, rounds int) {
	all, unknown := 0, 0
	for i := range scriptLimiters {
		limiter := &scriptLimiters[i]
		for n := range rounds * scriptKeys {
			key := scriptKey(i, n/scriptKeys, n%scriptKeys)
			for before := -1; before < l.admitted[key]; {
				before = l.admitted[key]
				answer, err := ask(c.nodes[c.names[n%len(c.names)]].Address, limiter.call(key)...)
				if l.note(limiter, key, answer, err); err != nil {
					l.t.Fatalf("%s: %v", limiter.name, err)
				}
			}
			all, unknown = all+l.admitted[key], unknown+l.unknown[key]
			if got := l.admitted[key]; got > scriptLimit || got+l.unknown[key] < scriptLimit {
				l.t.Errorf("%s: %s admitted %d of %d, and %d requests are of unknown outcome", limiter.name, key, got, scriptLimit, l.unknown[key])
			}
		}
	}
	l.t.Logf("%d leaders killed, %d requests admitted, %d denied, %d of unknown outcome", rounds, all, l.denied, unknown)
	if l.denied == 0 {
		l.t.Error("no request was denied: the limits were not reached")
	}
	for _, name := range c.names {
		if text, err := ask(c.nodes[name].Address, "SCRIPT", "EXISTS", scriptLimiters[0].call("")[1]); err != nil || len(text.items) != 1 || text.items[0].integer != 1 {
			l.t.Errorf("%s: %s: %v, %v", name, "SCRIPT EXISTS", text, err)
		}
	}
}
