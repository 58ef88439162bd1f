package main

import (
	"fmt"
	"strings"
)

// attack is what each hostile connection sends over and over: commands in one pipeline.
type attack struct {
	name     string
	commands [][]string
}

// The keys that fill makes for the attacks: the largest values, a thousand short ones, and full limiters.
const (
	hash, list, set, otherSet, sortedSet, text = "t:hash", "t:list", "t:set", "t:other-set", "t:sorted-set", "t:text"
	holders, log                               = "t:holders", "t:log"
)

// attacks has a line for each kind of work: by what is looked at, copied, written, sorted, waited for or reported.
var attacks = []attack{
	{"nothing", nil},
	lines("HRANDFIELD " + hash + " -100000 WITHVALUES"), lines("HGETALL " + hash), lines("HKEYS " + hash), lines("HGET " + hash + " f55999"),
	one("HMGET of 1000", each("HMGET "+hash, "f%d", 1000)), lines("HSET " + hash + " f55999 x"), lines("HDEL " + hash + " absent"),
	lines("HSCAN " + hash + " 0 COUNT 100000"), lines("HINCRBY " + hash + " f55998 1"),
	lines("LPOS " + list + " 5 COUNT 0"), lines("LPOS " + list + " absent COUNT 0"), lines("LRANGE " + list + " 0 -1"), lines("LINDEX " + list + " 50000"),
	lines("LINSERT " + list + " BEFORE absent x"), lines("LREM " + list + " 0 absent"), lines("LSET " + list + " 50000 5"),
	lines("LMOVE " + list + " " + list + " LEFT RIGHT"), lines("RPUSH "+list+" 1", "LPOP "+list),
	lines("SMEMBERS " + set), lines("SINTER " + set + " " + otherSet), lines("SUNIONSTORE t:to " + set + " " + otherSet), lines("SISMEMBER " + set + " m89999"),
	lines("SRANDMEMBER " + set + " -100000"), lines("SRANDMEMBER " + set + " 89999"), lines("SADD "+set+" x", "SREM "+set+" x"), lines("SSCAN " + set + " 0 COUNT 100000"),
	lines("ZRANGE " + sortedSet + " 0 -1 WITHSCORES"), lines("ZRANGEBYSCORE " + sortedSet + " -inf +inf LIMIT 40000 10"), lines("ZRANK " + sortedSet + " m39999"),
	lines("ZADD " + sortedSet + " 5 m30000"), lines("ZINCRBY " + sortedSet + " 1 m30000"), lines("ZCOUNT " + sortedSet + " -inf +inf"),
	lines("ZRANDMEMBER " + sortedSet + " -100000 WITHSCORES"), lines("ZSCAN " + sortedSet + " 0 COUNT 100000"), lines("ZPOPMIN "+sortedSet, "ZADD "+sortedSet+" 1 m0"),
	lines("GET " + text), repeated(32, "GET "+text), lines("SETRANGE " + text + " 0 y"), lines("COPY " + text + " t:to REPLACE"), lines("COPY " + hash + " t:to REPLACE"),
	one("MGET of 1000", each("MGET", "t:short%d", 1000)), one("MSET of 500", each("MSET", "t:short%d x", 500)), one("WATCH of 200", each("WATCH", "t:short%d", 200), words("UNWATCH")),
	repeated(1000, "GET t:short1"), repeated(1000, "CL.THROTTLE t:x 10 10 60"), repeated(100, "LPOS "+list+" 5 COUNT 0"), repeated(1000, "HGET "+hash+" f55999"),
	transaction(100, "HGET "+hash+" f55999"), one("BLPOP of 1000", append(each("BLPOP", "t:none%d", 1000), "0.05")),
	lines("SCAN 0 COUNT 10000"), lines("KEYS t:*"), lines("DBSIZE"), lines("RANDOMKEY"), lines("COMMAND"), lines("COMMAND DOCS"), lines("INFO everything"),
	lines("CLIENT LIST"), lines("CONFIG GET *"), lines("ACL LIST"), lines("MEMORY STATS"), lines("LATENCY HISTOGRAM"), lines("SLOWLOG GET 1000"),
	one("EVAL of an endless loop", []string{"EVAL", "while true do end", "0"}), lines("PUBLISH t:channel x"),
	lines("CC.HOLDERS " + holders), lines("CC.ACQUIRE " + holders + " 10000 1h new"), repeated(500, "CC.ACQUIRE "+holders+" 10000 1h new"),
	lines("SL.LOG " + log), lines("SL.ACQUIRE " + log + " 100000 1h"), lines("RL.INFO " + holders), lines("RL.TOP 1000"),
}

func words(line string) []string { return strings.Fields(line) }

// lines is an attack of some commands, named after the first of them.
func lines(all ...string) attack {
	a := attack{name: all[0]}
	for _, line := range all {
		a.commands = append(a.commands, words(line))
	}
	return a
}

func one(name string, commands ...[]string) attack { return attack{name, commands} }

func repeated(n int, line string) attack {
	a := attack{name: fmt.Sprintf("%d x %s", n, line)}
	for range n {
		a.commands = append(a.commands, words(line))
	}
	return a
}

func transaction(n int, line string) attack {
	a := repeated(n, line)
	return attack{"MULTI, " + a.name + ", EXEC", append(append([][]string{{"MULTI"}}, a.commands...), []string{"EXEC"})}
}

// each is a command with an argument, or several, for each number below n.
func each(command, format string, n int) []string {
	all := words(command)
	for i := range n {
		all = append(all, words(fmt.Sprintf(format, i))...)
	}
	return all
}

// fill makes the keys of the attacks.
func fill(c *client) error {
	for _, command := range []string{"FLUSHALL", "ACL SETUSER hostile on >hostile ~t:* &t:* +@all"} {
		if err := c.do(words(command)); err != nil {
			return err
		}
	}
	for _, v := range []struct {
		command, format string
		from, to        int
	}{
		{"HSET " + hash, "f%[1]d %[1]d", 0, 56_000}, {"RPUSH " + list, "%d", 0, 90_000}, {"SADD " + set, "m%d", 0, 90_000}, {"SADD " + otherSet, "m%d", 45_000, 135_000},
		{"ZADD " + sortedSet, "%[1]d m%[1]d", 0, 40_000}, {"MSET", "t:short%d v", 0, 1000},
	} {
		const step = 400
		for i := v.from; i < v.to; i += step {
			command := words(v.command)
			for j := i; j < min(i+step, v.to); j++ {
				command = append(command, words(fmt.Sprintf(v.format, j))...)
			}
			if err := c.do(command); err != nil {
				return err
			}
		}
	}
	for i := range 10_000 {
		if err := c.do(words(fmt.Sprintf("CC.ACQUIRE %s 10000 1h holder%d", holders, i))); err != nil {
			return err
		}
	}
	for range 20 {
		if err := c.do(words("SL.ACQUIRE " + log + " 100000 1h 1000")); err != nil {
			return err
		}
	}
	return c.do(words("SETRANGE " + text + " 1048000 x"))
}
