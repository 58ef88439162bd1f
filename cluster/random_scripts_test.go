package cluster

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
)

// scriptLines are lines of random scripts. %s is a key, which may be one that the script does not declare.
var scriptLines = []string{
	"local t = redis.call('TIME') redis.pcall('SET', %s, t[1] .. '.' .. t[2])",
	"redis.pcall('SET', %s, math.random(1000), 'PX', 1 + tonumber(ARGV[1]) * 100)",
	"redis.pcall('INCRBY', %s, ARGV[1])",
	"redis.pcall('EXPIRE', %s, ARGV[1])",
	"redis.pcall('DEL', %s)",
	"redis.pcall('HSET', %s, ARGV[1], ARGV[2])",
	"redis.pcall('HINCRBY', %s, 'count', ARGV[1])",
	"redis.pcall('HDEL', %s, ARGV[1])",
	"redis.pcall('ZADD', %s, ARGV[1], ARGV[2])",
	"redis.pcall('ZREMRANGEBYSCORE', %s, 0, ARGV[1])",
	"redis.pcall('RPUSH', %s, ARGV[2])",
	"redis.pcall('TB.ACQUIRE', %s, 20, '1/m')",
	"redis.pcall('INCREX', %s, 'BYINT', ARGV[1], 'UBOUND', 200, 'PX', 500, 'ENX')",
	"redis.pcall('INCREX', %s, 'BYFLOAT', ARGV[1] / 8, 'LBOUND', -5, 'SATURATE')",
	"redis.pcall('GCRA', %s, 5, ARGV[1], 60, 'TOKENS', 1 + ARGV[2] %% 3)",
	"if redis.call('PTTL', %s) > 1000 then return redis.status_reply('LATE') end",
	"for i = 1, 20 do redis.pcall('SET', 'more' .. (i * tonumber(ARGV[1])) %% 7, cjson.encode({i, ARGV[2], %s})) end",
	"if tonumber(ARGV[1]) %% 5 == 0 then error('halfway ' .. %s) end",
	"if tonumber(ARGV[1]) == 13 then while true do redis.pcall('GET', %s) end end",
}

// scriptBodies are random scripts, always the same ones.
var scriptBodies = func() (bodies []string) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 40 {
		var body strings.Builder
		for range 1 + r.IntN(6) {
			key := []string{"KEYS[1]", "KEYS[2]", fmt.Sprintf("'data%d'", r.IntN(8))}[r.IntN(3)]
			body.WriteString(fmt.Sprintf(scriptLines[r.IntN(len(scriptLines))], key) + "\n")
		}
		bodies = append(bodies, body.String()+"return {redis.call('GET', 'text'), ARGV[1]}")
	}
	return bodies
}()

// randomScript returns a call of a random script, or an operation on the scripts themselves.
func randomScript(r *rand.Rand) engine.Op {
	body := scriptBodies[r.IntN(len(scriptBodies))]
	words := []string{"EVAL", body, "2", fmt.Sprint("data", r.IntN(8)), fmt.Sprint("data", r.IntN(8)),
		fmt.Sprint(1 + r.IntN(100)), fmt.Sprint(r.IntN(1e6))}
	switch r.IntN(40) {
	case 0:
		return operation("SCRIPT", "FLUSH")
	case 1, 2:
		return operation("SCRIPT", "LOAD", body)
	case 3:
		words[0] = "EVAL_RO"
	case 4:
		words[1] += " -- " + fmt.Sprint(r.IntN(10_000)) // one of many bodies, which displace each other
	case 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
		words[0], words[1] = "EVALSHA", scriptcache.Digest([]byte(body))
	}
	return operation(words...)
}

// countScripts counts the replies of scripts.
func (w *world) countScripts(ops []engine.Op, results []engine.Result) {
	for i := range results {
		switch reply := results[i].Reply; {
		case ops[i].Verb != engine.Script || results[i].Status != engine.OK:
		case bytes.HasPrefix(reply, []byte("-NOSCRIPT")):
			w.scripts[1].Add(1)
		case bytes.HasPrefix(reply, []byte("-")):
			w.scripts[2].Add(1)
		default:
			w.scripts[0].Add(1)
		}
	}
}

// scriptCounts returns how many scripts ended, were not known, and failed.
func (w *world) scriptCounts() (counts [3]int64) {
	for i := range counts {
		counts[i] = w.scripts[i].Load()
	}
	inMemory := int64(0)
	for _, n := range w.everStarted {
		inMemory += n.Group().Status().DecidedByAllowance
	}
	w.t.Logf("%d operations answered in the leader's memory", inMemory)
	return counts
}
