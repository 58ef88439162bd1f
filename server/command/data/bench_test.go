//go:build linux

package data_test

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"golang.org/x/sys/unix"
)

// fill makes values of about 1 MiB, of as many short strings as possible.
func (s *dataStore) fill() {
	const step = 500
	for _, v := range []struct {
		line string
		most int
		each func(i int) []string
	}{
		{"SADD set", 100_000, number}, {"SADD middle", 20_000, number}, {"SADD middle1", 10_000, number}, {"SADD middle2", 10_000, number},
		{"HSET hash", 68_000, pair},
		{"ZADD sorted", 47_000, func(i int) []string { return []string{strconv.Itoa(i * 7919 % 47_000), strconv.Itoa(i)} }},
		{"ZADD scored1", 10_000, reversedPair}, {"ZADD scored2", 10_000, reversedPair},
		{"RPUSH list", 100_000, number},
	} {
		for from := 0; from < v.most; from += step {
			if reply := s.do(v.line, words(from, min(step, v.most-from), v.each)...); reply[0] == '-' {
				s.t.Fatalf("%s: %s", v.line, reply)
			}
		}
	}
	s.do("SET string", string(bytes.Repeat([]byte("x"), engine.MaxValueBytes)))
}

// largeCase is a command on the largest values, with as many arguments as --max-args allows by default.
type largeCase struct {
	name    string
	before  []string // a command that makes the next one change something
	measure []string
}

func largeCases() []largeCase {
	const args = 1020
	fields := func(line string, from, n int) []string { return append([]string{line}, words(from, n, number)...) }
	pairs := func(line string, from, n int) []string { return append([]string{line}, words(from, n, pair)...) }
	scored := func(line string, from, n int) []string {
		return append([]string{line}, words(from, n, reversedPair)...)
	}
	one := func(line string) []string { return []string{line} }
	return []largeCase{
		{"SADD 1", one("SREM set 5"), one("SADD set 5")},
		{"SADD 4", fields("SREM set", 0, 4), fields("SADD set", 0, 4)},
		{"SADD 5", fields("SREM set", 0, 5), fields("SADD set", 0, 5)},
		{"SADD many", fields("SREM set", 0, args), fields("SADD set", 0, args)},
		{"SADD small", one("DEL new"), fields("SADD new", 0, args)},
		{"SREM 4", fields("SADD set", 0, 4), fields("SREM set", 0, 4)},
		{"SREM many", fields("SADD set", 0, args), fields("SREM set", 0, args)},
		{"SMISMEMBER many", nil, fields("SMISMEMBER set", 0, args)},
		{"SMEMBERS", nil, one("SMEMBERS set")},
		{"SUNIONSTORE 1", nil, one("SUNIONSTORE other middle")},
		{"SUNIONSTORE 2", nil, one("SUNIONSTORE other middle1 middle2")},
		{"SDIFFSTORE 1", nil, one("SDIFFSTORE other middle")},
		{"SDIFFSTORE 2", nil, one("SDIFFSTORE other middle1 middle2")},
		{"HSET 1", one("HDEL hash 5"), one("HSET hash 5 1")},
		{"HSET 2", nil, pairs("HSET hash", 0, 2)},
		{"HSET many", nil, pairs("HSET hash", 0, args/2)},
		{"HGET", nil, one("HGET hash x")},
		{"HMGET 2", nil, fields("HMGET hash", 0, 2)},
		{"HMGET many", nil, fields("HMGET hash", 0, args)},
		{"HGETALL", nil, one("HGETALL hash")},
		{"HKEYS", nil, one("HKEYS hash")},
		{"HINCRBY", nil, one("HINCRBY hash x 1")},
		{"HDEL 1", one("HSET hash 5 1"), one("HDEL hash 5")},
		{"HDEL 2", pairs("HSET hash", 0, 2), fields("HDEL hash", 0, 2)},
		{"HDEL many", pairs("HSET hash", 0, args/2), fields("HDEL hash", 0, args)},
		{"ZADD 1", one("ZREM sorted 5"), one("ZADD sorted 5 5")},
		{"ZADD 63", scored("ZADD sorted", 0, 63), rescored(0, 63)},
		{"ZADD 64", scored("ZADD sorted", 0, 64), rescored(0, 64)},
		{"ZADD many", scored("ZADD sorted", 0, args/2), rescored(0, args/2)},
		{"ZREM 63", scored("ZADD sorted", 0, 63), fields("ZREM sorted", 0, 63)},
		{"ZREM many", scored("ZADD sorted", 0, args/2), fields("ZREM sorted", 0, args)},
		{"ZREM none", nil, fields("ZREM sorted x", 1e6, args)},
		{"ZSCORE", nil, one("ZSCORE sorted x")},
		{"ZRANGE", nil, one("ZRANGE sorted 0 -1 WITHSCORES")},
		{"ZRANGE BYLEX", nil, one("ZRANGE sorted [a [b BYLEX")},
		{"ZRANGEBYSCORE", nil, one("ZRANGEBYSCORE sorted -inf +inf WITHSCORES")},
		{"ZREMRANGEBYRANK", one("ZADD sorted 1 5"), one("ZREMRANGEBYRANK sorted 0 0")},
		{"ZUNION 1", nil, one("ZUNION 1 middle WITHSCORES")},
		{"ZUNION 2", nil, one("ZUNION 2 scored1 scored2 WITHSCORES")},
		{"LPUSH 1", one("LPOP list"), one("LPUSH list 1")},
		{"LPUSH many", one("LPOP list 1020"), fields("LPUSH list", 0, args)},
		{"RPUSH 1", one("LPOP list"), one("RPUSH list 1")},
		{"LRANGE", nil, one("LRANGE list 0 -1")},
		{"LPOP", one("LPUSH list 1"), one("LPOP list")},
		{"LTRIM", one("LPUSH list 1"), one("LTRIM list 1 -1")},
		{"RPOP many", fields("RPUSH list", 0, args), one("RPOP list 1020")},
		{"LMOVE", nil, one("LMOVE list list LEFT RIGHT")},
		{"LSET", nil, one("LSET list 0 x")},
		{"LINSERT", one("LPOP list"), one("LINSERT list AFTER 99998 x")},
		{"LREM all", nil, one("LREM list 0 99999")},
		{"LPOS", nil, one("LPOS list nosuch")},
		{"SPOP many", fields("SADD set", 0, args), one("SPOP set 100")},
		{"SMOVE", one("SADD set 5"), one("SMOVE set moved 5")},
		{"SRANDMEMBER many", nil, one("SRANDMEMBER set 100000")},
		{"SRANDMEMBER again", nil, one("SRANDMEMBER set -100000")},
		{"SINTER", nil, one("SINTER middle1 middle2")},
		{"SUNION", nil, one("SUNION middle1 middle2")},
		{"SSCAN", nil, one("SSCAN set 0 MATCH 1*")},
		{"HVALS", nil, one("HVALS hash")},
		{"HINCRBYFLOAT", nil, one("HINCRBYFLOAT hash x 0.5")},
		{"HRANDFIELD many", nil, one("HRANDFIELD hash 100000 WITHVALUES")},
		{"HSCAN", nil, one("HSCAN hash 0")},
		{"ZRANK", nil, one("ZRANK sorted x")},
		{"ZMSCORE 31", nil, fields("ZMSCORE sorted", 0, 31)},
		{"ZMSCORE many", nil, fields("ZMSCORE sorted", 0, args)},
		{"ZPOPMIN many", scored("ZADD sorted", 0, args/2), one("ZPOPMIN sorted 500")},
		{"ZSCAN", nil, one("ZSCAN sorted 0")},
		{"ZLEXCOUNT", nil, one("ZLEXCOUNT sorted - +")},
		{"ZINTER", nil, one("ZINTER 2 scored1 scored2 WITHSCORES")},
		{"ZDIFF", nil, one("ZDIFF 2 scored1 middle2")},
		{"ZUNIONSTORE", nil, one("ZUNIONSTORE combined 2 scored1 scored2")},
		{"COPY", nil, one("COPY set copied REPLACE")},
		{"APPEND", one("SETRANGE text 1000000 x"), one("APPEND text x")},
		{"SETRANGE", nil, one("SETRANGE string 5 x")},
		{"OBJECT ENCODING", nil, one("OBJECT ENCODING set")},
		{"GET", nil, one("GET string")},
		{"EXPIRE", nil, one("EXPIRE set 1000")},
		{"PERSIST", one("EXPIRE set 1000"), one("PERSIST set")},
	}
}

// BenchmarkLargestValues shows the CPU time of commands on the largest values. A command should take at most about 5
// ms, and a unit of work at most about 12 ns.
func BenchmarkLargestValues(b *testing.B) {
	s := newDataStore(b)
	s.fill()
	for _, c := range largeCases() {
		b.Run(c.name, func(b *testing.B) {
			work, least := 0, time.Hour
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for b.Loop() {
				if len(c.before) > 0 {
					b.StopTimer()
					s.run(c.before[0], c.before[1:]...)
					b.StartTimer()
				}
				began := threadTime()
				res := s.run(c.measure[0], c.measure[1:]...)
				least = min(least, threadTime()-began)
				if work = res.Work; len(res.Reply) > 0 && res.Reply[0] == '-' {
					b.Fatalf("%.100s", res.Reply)
				}
			}
			b.ReportMetric(float64(least)/float64(max(1, work)), "ns/work")
			b.ReportMetric(least.Seconds()*1000, "ms/op")
			b.ReportMetric(float64(work), "work/op")
		})
	}
}

// threadTime is the CPU time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// rescored returns a ZADD of members with other scores than before.
func rescored(from, n int) []string {
	return append([]string{"ZADD sorted"}, words(from, n, func(i int) []string { return []string{strconv.Itoa(i * 3), strconv.Itoa(i)} })...)
}

// BenchmarkScriptsOnLargestValues shows how long a script can repeat the same commands: it should be at most about 50
// ms.
func BenchmarkScriptsOnLargestValues(b *testing.B) {
	s := newDataStore(b)
	s.fill()
	const again = `local n = tonumber(ARGV[1])
		local before, measure = {}, {}
		for i = 2, n + 1 do before[i - 1] = ARGV[i] end
		for i = n + 2, #ARGV do measure[i - n - 1] = ARGV[i] end
		while true do
			if n > 0 then redis.call(unpack(before)) end
			redis.call(unpack(measure))
		end`
	for _, c := range largeCases() {
		b.Run(c.name, func(b *testing.B) {
			before := strings.Fields(strings.Join(c.before, " "))
			words := append([]string{again, "0", strconv.Itoa(len(before))}, before...)
			words = append(words, strings.Fields(strings.Join(c.measure, " "))...)
			least := time.Hour
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for b.Loop() {
				began := threadTime()
				res := s.run("EVAL", words...)
				least = min(least, threadTime()-began)
				if !strings.Contains(string(res.Reply), "budget") {
					b.Fatalf("%.200s", res.Reply)
				}
			}
			b.ReportMetric(least.Seconds()*1000, "ms/op")
		})
	}
}
