package server

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// keyRights has the permissions that each command needs on its keys: R to return or use its data, W to change it. Those
// of Redis's commands are its key specifications (ACCESS is R; INSERT, UPDATE and DELETE are W), but for commands that
// only look: each needs R here. A limiter's decision is the answer to a change: W. Commands that came later state it in
// their row alone.
var keyRights = map[string]string{
	"cl.throttle": "W", "tb.acquire": "W", "lb.acquire": "W", "lb.queue": "W", "fw.acquire": "W", "sw.acquire": "W", "sl.acquire": "W", "cc.acquire": "W",
	"fs.acquire": "W", "ad.acquire": "W", "ht.acquire": "W", "rl.all": "W", "rl.check": "W", "ad.report": "W", "cc.release": "W",
	"rl.extend": "W", "rl.settle": "W", "rl.cancel": "W", "rl.lend": "W", "rl.return": "W", "rl.void": "W", "rl.refund": "W", "rl.atmost": "W",
	"cc.holders": "R", "sl.log": "R", "fs.members": "R", "rl.lent": "R", "rl.info": "R", "memory|usage": "R",
	"del": "W", "unlink": "W", "exists": "R", "ttl": "R", "pttl": "R", "type": "R", "expiretime": "R", "pexpiretime": "R",
	"expire": "W", "pexpire": "W", "expireat": "W", "pexpireat": "W", "persist": "W", "rename": "RW",
	"get": "R", "mget": "R", "set": "W", "setnx": "W", "setex": "W", "psetex": "W",
	"incr": "RW", "incrby": "RW", "decr": "RW", "decrby": "RW", "incrbyfloat": "RW",
	"hset": "W", "hmset": "W", "hsetnx": "W", "hdel": "W", "hincrby": "RW", "hget": "R", "hmget": "R", "hgetall": "R", "hkeys": "R", "hstrlen": "R",
	"lpush": "W", "rpush": "W", "ltrim": "W", "lpop": "RW", "lindex": "R", "lrange": "R", "llen": "R",
	"sadd": "W", "srem": "W", "scard": "R", "sismember": "R", "smismember": "R", "smembers": "R", "sdiffstore": "RW", "sunionstore": "RW",
	"zadd": "W", "zincrby": "RW", "zrem": "W", "zremrangebyscore": "W", "zremrangebyrank": "W",
	"zcard": "R", "zcount": "R", "zscore": "R", "zrange": "R", "zrevrange": "R", "zrangebyscore": "R", "zunion": "R",
}

// variants are calls that need other rights than their command in general, or different ones on a first and a second
// key.
var variants = []struct{ line, first, second string }{
	{"SET counter 1 GET", "RW", ""},
	{"SET counter 1 EX 60 get", "RW", ""},
	{"SET counter GET", "W", ""},
	{"ZADD hits XX INCR 1 request", "RW", ""},
	{"ZADD hits 1 INCR", "W", ""},
	{"RENAME counter other", "RW", "W"},
	{"SUNIONSTORE tags other", "W", "R"},
	{"SDIFFSTORE tags other", "W", "R"},
	{"MGET counter other", "R", "R"},
	{"DEL counter other", "W", "W"},
	{"TB.ACQUIRE alice:1 5 1/h PEEK", "R", ""},
	{"CC.ACQUIRE alice:7 5 1m me PEEK", "R", ""},
	{"CL.THROTTLE alice:1 4 1 60 0", "RW", ""},
	{"CL.THROTTLE alice:1 4 1 60 1", "W", ""},
	{"RL.ALL TB alice:1 5 1/h TB alice:2 5 1/h COST 0", "W", "RW"},
	{"RL.ALL TB alice:1 5 1/h TB alice:2 5 1/h COST 0 PEEK", "R", "R"},
	{"HT.ACQUIRE alice:1 5 1/s 5 1/s UNDER alice:2 5 1/s", "W", "W"},
	{"HT.ACQUIRE alice:1 5 1/s 5 1/s UNDER alice:2 5 1/s PEEK", "R", "R"},
}

// A right is checked where a key is used: for each command with a key, a user that may read it, change it, or do both,
// is refused for want of a right directly, in a transaction and in a script alike.
func TestRightsOnKeys(t *testing.T) {
	p := prepared(t, "TB.ACQUIRE alice:1 5 1/h", "SET counter 1", "RPUSH jobs 1", "RL.POLICY SET private TB alice:{} 5 1/h")
	for _, rights := range []string{"R", "W", "RW"} {
		p.as(t, "default", frames("ACL SETUSER "+rights+" on >tea %"+rights+"~?* +@all")) // "?*" are all keys, but not the pattern for all
	}
	for _, row := range command.All {
		line := wordsOf(strings.ReplaceAll(row.FullName, "|", " ") + " " + row.Example)
		needed, stated := keyRights[row.FullName]
		if access := row.Keys.Access | row.Keys.Others; !stated && access != 0 {
			needed, stated = []string{"", "R", "W", "RW"}[access], true
		}
		if takesKeys := row.Parse != nil && row.Group != "scripting" && len(row.KeysOf(line)) > 0 || row.Name == "rl.check"; stated != takesKeys {
			t.Errorf("%s takes keys: %t; its row, or keyRights of this test, states the rights that it needs: %t", row.FullName, takesKeys, stated)
		}
		for _, rights := range []string{"R", "W", "RW"} {
			if stated {
				tryRights(t, p, rights, row, line, !strings.Contains(rights, needed), strings.Contains(rights, "W"))
			}
		}
	}
}

// A command may need different rights on its keys, and its options others than it needs in general.
func TestRightsOfVariants(t *testing.T) {
	p := prepared(t, "SET counter 1", "SADD other 1")
	for _, v := range variants {
		line := wordsOf(v.line)
		row, err := command.Find(line)
		if err != nil {
			t.Fatal(err)
		}
		keys := row.KeysOf(line)
		for _, first := range []string{"R", "W", "RW"} {
			for _, second := range []string{"R", "W", "RW"} {
				user := first + "-" + second
				rule := fmt.Sprintf("ACL SETUSER %s on >tea resetkeys %%%s~%s +@all", user, first, keys[0])
				if len(keys) > 1 {
					rule += fmt.Sprintf(" %%%s~%s", second, keys[1])
				}
				p.as(t, "default", frames(rule))
				tryRights(t, p, user, row, line, !strings.Contains(first, v.first) || !strings.Contains(second, v.second),
					strings.Contains(first, "W") && (len(keys) == 1 || strings.Contains(second, "W")))
			}
		}
	}
}

func wordsOf(line string) [][]byte { return bytes.Fields([]byte(line)) }

// tryRights sends a command directly, in a transaction and in a script, and looks whether it is refused for want of a
// right on a key. EVAL itself needs the right to change the keys that it declares.
func tryRights(t *testing.T, p *sessionPlayer, user string, row *command.Row, line [][]byte, refused, mayEval bool) {
	t.Helper()
	try := func(way string, refused bool, sent []byte) {
		t.Helper()
		reply := p.as(t, user, sent)
		denied := strings.Contains(reply, "No permissions to access a key") || strings.Contains(reply, "can't access at least one of the keys") || strings.Contains(reply, "NOPERM no such policy")
		if denied != refused {
			t.Errorf("user %s, %s %q: %q; refused: %t, want %t", user, way, line, reply, denied, refused)
		}
	}
	try("directly", refused, frame(words(line)...))
	if row.Flags&command.NoMulti == 0 {
		try("in MULTI", refused, slices.Concat(frames("MULTI"), frame(words(line)...), frames("EXEC")))
	}
	if row.Flags&(command.NotInScripts|command.MovableKeys) != 0 || row.Data == 0 && row.Group != "limiter" || row.Name == "rl.check" {
		return
	}
	keys := words(row.KeysOf(line))
	if row.Name == "fs.acquire" {
		keys = append(keys, keys[0]+":me") // the member's
	}
	call := append([]string{"return redis.call(unpack(ARGV))", strconv.Itoa(len(keys))}, append(keys, words(line)...)...)
	try("in a script", refused || !mayEval, frame(append([]string{"EVAL"}, call...)...))
	if row.Flags&command.ReadOnly != 0 {
		try("in a read-only script", refused, frame(append([]string{"EVAL_RO"}, call...)...))
	}
}

// A script names each key that it uses, among others that its user may use otherwise: marks go with their keys, on a
// cluster too.
func TestRightsOnManyKeysOfAScript(t *testing.T) {
	p := prepared(t, "ACL SETUSER me on >tea ~rw:* %W~w:* +@all")
	p.as(t, "default", frames("SET w:9 secret", "SET rw:9 open"))
	for count := 1; count <= 20; count++ {
		for secret := range count {
			keys := make([]string, count)
			for i := range keys {
				keys[i] = "rw:" + strconv.Itoa(i)
			}
			keys[secret] = "w:9"
			const body = "redis.call('SET', 'w:9', 'secret') local n = 0 for _, k in ipairs(KEYS) do if pcall(redis.call, 'GET', k) then n = n + 1 end end return n"
			reply := p.as(t, "me", frame(append([]string{"EVAL", body, strconv.Itoa(count)}, keys...)...))
			if want := fmt.Sprintf(":%d\r\n", count-1); reply != want {
				t.Fatalf("%q: %q, want %q", keys, reply, want)
			}
		}
	}
	if reply := p.as(t, "me", frame("EVAL", "return redis.call('GET', 'w:8')", "1", "w:9")); !strings.Contains(reply, "can't access") {
		t.Errorf("an undeclared key: %q", reply)
	}
}

// A user of a key with the limiters' commands is no operator on it: RL.VOID is not for it.
func TestRightsOnLoans(t *testing.T) {
	p := prepared(t, "ACL SETUSER bob on >tea ~shared:* +@limiter", "ACL SETUSER op on >tea ~shared:* +@limiter +@admin", "RL.LEND shared:k TB 1000 1/h 100 alice-proc 7 0")
	for _, c := range []struct{ user, command, want string }{
		{"bob", "RL.LENT shared:k", "*1\r\n*3\r\n$10\r\nalice-proc\r\n:100\r\n"},
		{"bob", "RL.VOID shared:k alice-proc", "-NOPERM User bob has no permissions to run the 'rl.void' command"},
		{"bob", "RL.VOID shared:k alice-proc FORCE", "-NOPERM User bob has no permissions to run the 'rl.void' command"},
		{"bob", "RL.LENT shared:k", "*1\r\n"},
		{"op", "RL.VOID shared:k alice-proc FORCE", "*5\r\n:100\r\n"},
	} {
		if out := p.as(t, c.user, frames(c.command)); !strings.HasPrefix(out, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.user, c.command, out, c.want)
		}
	}
}
