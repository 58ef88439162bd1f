package server

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/localstore"
)

// countedKeys counts the entries that commands are shown.
type countedKeys struct {
	localstore.Store
	visited int
}

func (k *countedKeys) Scan(cursor uint64, count int, now int64, visit func(keyspace.Entry)) uint64 {
	return k.Store.Scan(cursor, count, now, func(e keyspace.Entry) { k.visited++; visit(e) })
}

func (k *countedKeys) ScanWhile(cursor uint64, count int, now int64, visit func(keyspace.Entry) bool) uint64 {
	return k.Store.ScanWhile(cursor, count, now, func(e keyspace.Entry) bool { k.visited++; return visit(e) })
}

func (k *countedKeys) Random(tries int, now int64, intN func(int) int, visit func(keyspace.Entry) bool) {
	k.Store.Random(tries, now, intN, func(e keyspace.Entry) bool { k.visited++; return visit(e) })
}

// newCostPlayer has keys that begin as given in a store, and a user, me, that may use those that begin with mine:.
func newCostPlayer(t *testing.T, keys int, format string) (*sessionPlayer, *countedKeys) {
	p := newSessionPlayer(t, 0)
	counted := &countedKeys{Store: p.keys}
	p.keys = counted
	var op engine.Op
	op.Limit = limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 3600e9}}
	op.Tokens = 1
	res := make([]engine.Result, 1)
	for i := range keys {
		op.Key = fmt.Appendf(nil, format, i)
		p.store.Apply(p.clock.Now(), []engine.Op{op}, res)
	}
	if out := p.do(t, "owner", "ACL SETUSER me on >tea ~mine:* +@all"); out != "+OK\r\n" {
		t.Fatal(out)
	}
	if out := p.do(t, "me", "AUTH me tea"); out != "+OK\r\n" {
		t.Fatal(out)
	}
	return p, counted
}

// RANDOMKEY looks at a bounded number of keys, for any user and any number of keys.
func TestRandomKeyIsBounded(t *testing.T) {
	p, counted := newCostPlayer(t, 20_000, "other:%d")
	for _, who := range []string{"me", "owner"} {
		counted.visited = 0
		out := p.do(t, who, "RANDOMKEY")
		if found := strings.Contains(out, "other:"); found != (who == "owner") {
			t.Errorf("%s: %q", who, out)
		}
		if counted.visited > 100 {
			t.Errorf("%s: looked at %d keys", who, counted.visited)
		}
	}
}

// A step of SCAN ends at some bytes, and goes on from there.
func TestScanStepEndsAtBytes(t *testing.T) {
	const keys = 2000
	p, _ := newCostPlayer(t, keys, "%d"+strings.Repeat("x", 4000))
	cursor, found, steps := "0", 0, 0
	for ; steps == 0 || cursor != "0"; steps++ {
		out := p.do(t, "owner", "SCAN "+cursor+" COUNT 100000")
		if len(out) > 300<<10 {
			t.Fatalf("a step of %d bytes", len(out))
		}
		cursor = strings.Split(out, "\r\n")[2]
		found += strings.Count(out, "xxx\r\n")
	}
	if found != keys || steps < keys*4000/(300<<10) {
		t.Errorf("%d keys in %d steps", found, steps)
	}
}

// KEYS ends with an error where its reply would be too long.
func TestKeysEndsAtBytes(t *testing.T) {
	p, counted := newCostPlayer(t, 2000, "%d"+strings.Repeat("x", 4000))
	out := p.do(t, "owner", "KEYS *")
	if !strings.HasPrefix(out, "-ERR KEYS found more than") || counted.visited > 1500 {
		t.Errorf("%.100q after %d keys", out, counted.visited)
	}
	if out = p.do(t, "owner", "KEYS 7x*"); strings.Count(out, "xxx\r\n") != 1 {
		t.Errorf("%.100q", out)
	}
}

// Many keys are looked through beside the event loop, and in a transaction not at all.
func TestKeysOfManyLeavesTheLoop(t *testing.T) {
	p, _ := newCostPlayer(t, 20_000, "%d")
	if out := p.do(t, "owner", "MULTI", "KEYS *", "EXEC"); !strings.Contains(out, "-ERR KEYS in a transaction") {
		t.Errorf("%.100q", out)
	}
	c := p.conns["owner"]
	c.sent.Reset()
	c.deliver(frames("KEYS 1999*", "PING"))
	eventually(t, "KEYS has answered", func() bool {
		p.settle()
		return strings.HasSuffix(c.sent.String(), "+PONG\r\n")
	})
	if out := c.sent.String(); !strings.HasPrefix(out, "*11\r\n") {
		t.Errorf("%.100q", out)
	}
}

// A pattern that takes many steps on one key is refused.
func TestCostlyPatternIsRefused(t *testing.T) {
	p, _ := newCostPlayer(t, 3, "%d"+strings.Repeat("a", 4000))
	pattern := "*[" + strings.Repeat("b", 20_000) + "]"
	for _, command := range []string{"SCAN 0 MATCH " + pattern} {
		if out := p.do(t, "owner", command); !strings.HasPrefix(out, "-ERR pattern: it takes too many steps") {
			t.Errorf("%.20q: %.100q", command, out)
		}
	}
}

// A check by a user that may not use all keys looks at the limits of one caller, and never copies the overrides.
func TestCheckCopiesNoOverrides(t *testing.T) {
	p, _ := newCostPlayer(t, 0, "")
	p.do(t, "owner", "RL.POLICY SET api TB mine:{} 5 1/h")
	set := func(n int) {
		for i := range n {
			p.store.Apply(p.clock.Now(), []engine.Op{{Verb: engine.SetOverride, Key: []byte("api"), Who: fmt.Appendf(nil, "%d", i),
				Parts: []engine.Op{{Key: []byte("mine:own:{}"), Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 9, Rate: limits.Rate{Tokens: 1, Period: 3600e9}}}}}},
				make([]engine.Result, 1))
		}
	}
	for _, command := range []string{"RL.CHECK api 7", "RL.POLICY GET api", "RL.POLICY GET api 7", "RL.POLICY LIST"} {
		ask := func() { p.do(t, "me", command) }
		set(10)
		few := testing.AllocsPerRun(10, ask)
		set(1000)
		if many := testing.AllocsPerRun(10, ask); many > few+20 {
			t.Errorf("%s: %v allocations with 1000 overrides, %v with 10", command, many, few)
		}
		p.do(t, "owner", "RL.POLICY DEL api", "RL.POLICY SET api TB mine:{} 5 1/h")
	}
}

// A user learns nothing of keys and policies out of reach.
func TestOthersKeysStayUnknown(t *testing.T) {
	p, _ := newCostPlayer(t, 0, "")
	p.do(t, "owner", "RL.POLICY SET theirs TB zq9:{} 5 1/h", "RL.POLICY SET api TB mine:{} 5 1/h", "RL.POLICY OVERRIDE api vip TB zq9:{} 7 1/h",
		"TB.ACQUIRE zq9:1 1 1/h", "TB.ACQUIRE zq9:1 1 1/h", "TB.ACQUIRE mine:1 1 1/h", "TB.ACQUIRE mine:1 1 1/h",
		"TB.ACQUIRE mine:"+strings.Repeat("l", 400)+" 1 1/h", "TB.ACQUIRE mine:"+strings.Repeat("l", 400)+" 1 1/h")
	if there, not := p.do(t, "me", "RL.CHECK theirs 1"), p.do(t, "me", "RL.CHECK nonsense 1"); there != not {
		t.Errorf("a policy that is there: %q, and one that is not: %q", there, not)
	}
	if out := p.do(t, "me", "RL.POLICY GET api vip"); out != "$-1\r\n" {
		t.Errorf("an override on others' keys: %q", out)
	}
	if out := p.do(t, "me", "RL.POLICY GET api 7"); !strings.Contains(out, "TB mine:{} 5 1/1h") {
		t.Errorf("one's own: %q", out)
	}
	for _, mode := range []string{"plain", "hashed"} {
		p.do(t, "owner", "CONFIG SET top-keys "+mode)
		if out := p.do(t, "me", "RL.TOP"); !strings.HasPrefix(out, "*1\r\n") || strings.Contains(out, "zq9") {
			t.Errorf("%s: RL.TOP shows a user %q", mode, out)
		}
		if out := p.do(t, "owner", "RL.TOP"); !strings.HasPrefix(out, "*3\r\n") {
			t.Errorf("%s: RL.TOP shows everybody %q", mode, out)
		}
	}
}

// fillSemaphore gives a key as many holders as there may be, with names of a format.
func fillSemaphore(p *sessionPlayer, key, format string) {
	res := make([]engine.Result, 1)
	for i := range limits.MaxHolders {
		op := engine.Op{Key: []byte(key), Who: fmt.Appendf(nil, format, i), Tokens: 1,
			Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: limits.MaxHolders, Rate: limits.Rate{Period: 3600e9}}}
		p.store.Apply(p.clock.Now(), []engine.Op{op}, res)
	}
}

// fillLog gives a key a sliding log with n grants, one every nanosecond from now on: earlier ones would have one time,
// in the shard of a key that was used before.
func fillLog(p *sessionPlayer, key string, n int) {
	res := make([]engine.Result, 1)
	for i := range n {
		op := engine.Op{Key: []byte(key), Tokens: 1, Limit: limits.Limit{Algorithm: limits.SlidingLog, Capacity: 100_000, Rate: limits.Rate{Period: 3600e9}}}
		p.store.Apply(p.clock.Now()+int64(i), []engine.Op{op}, res)
	}
}

// batchDecider notes how much batches may take, and how much their results hold.
type batchDecider struct {
	decider.Decider
	batches         int
	mostOps         int
	mostWork, bytes int
}

func (d *batchDecider) Decide(b *engine.Batch) bool {
	done := d.Decider.Decide(b)
	work, bytes := 0, 0
	for i := range b.Results {
		work += b.Results[i].Work
		bytes += len(b.Results[i].Reply)
		for _, l := range b.Results[i].Leases {
			bytes += len(l.Holder)
		}
	}
	d.batches++
	d.mostOps, d.mostWork, d.bytes = max(d.mostOps, len(b.Ops)), max(d.mostWork, work), max(d.bytes, bytes)
	return done
}

// costOf has the owner send commands, and records their cost.
func costOf(t *testing.T, p *sessionPlayer, commands ...string) (d *batchDecider, out string) {
	d = &batchDecider{Decider: p.env.Decider}
	p.env.Decider = d
	defer func() { p.env.Decider = d.Decider }()
	return d, p.do(t, "owner", commands...)
}

func repeated(n int, command string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = command
	}
	return all
}

// However many commands a client sends at once, they are decided in batches of bounded work and bytes, and after
// bounded work others have their turn.
func TestPipelinesAreCutByWork(t *testing.T) {
	p, _ := newCostPlayer(t, 0, "")
	fillSemaphore(p, "big", "%0248d")
	fillLog(p, "log", 20_000)
	for _, line := range []string{"CC.HOLDERS big", "SL.LOG log COUNT 10000", "SL.LOG log", "CC.ACQUIRE big 10000 1h new", "CC.ACQUIRE big 10000 1h " + fmt.Sprintf("%0248d", 9999),
		"CC.RELEASE big nobody", "TTL big", "RL.INFO big", "EXISTS big", "MEMORY USAGE big", "RL.ALL CC big 10000 1h x TB small 5 1/h PEEK"} {
		n := 200
		if line == "CC.HOLDERS big" || strings.HasPrefix(line, "SL.LOG") {
			n = 10
		}
		d, out := costOf(t, p, repeated(n, line)...)
		if strings.HasPrefix(out, "-") {
			t.Errorf("%s: %.100q", line, out)
		}
		if d.mostWork > command.MaxBatchWork+store.MaxHolderWork || d.bytes > engine.MaxListedBytes || d.batches <= n/64 {
			t.Errorf("%s: %d batches, of at most %d operations, work %d and %d bytes", line, d.batches, d.mostOps, d.mostWork, d.bytes)
		}
	}
	for line, head := range map[string]string{"SL.LOG log": "*100\r\n", "SL.LOG log COUNT 10000": "*10000\r\n"} {
		if out := p.do(t, "owner", line); !strings.HasPrefix(out, head) {
			t.Errorf("%s: %.100q", line, out)
		}
	}
	c := p.conns["owner"]
	c.sent.Reset()
	c.woken.Store(false)
	c.traffic(frames(repeated(300, "TTL big")...)) // one turn, and not those that follow it
	if n := strings.Count(c.sent.String(), "\r\n"); n > 130 || !c.woken.Load() && !p.env.DoesLongWork() {
		t.Errorf("%d commands of 10,000 steps each in one turn, woken for the rest: %t", n, c.woken.Load())
	}
	p.settle()
	if n := strings.Count(c.sent.String(), "\r\n"); n != 300 {
		t.Errorf("%d of 300 commands were answered", n)
	}
	c.sent.Reset()
	c.traffic(frames(repeated(300, "TTL other")...))
	if n := strings.Count(c.sent.String(), "\r\n"); n != 300 {
		t.Errorf("only %d of 300 cheap commands in one turn", n)
	}
}

// The scripts of a pipeline are decided together, which in a cluster is one entry of the log instead of many, although a
// script could reply with far more than its work shows. Once its replies are long, they are decided a few at a time.
func TestScriptsAreBatched(t *testing.T) {
	p, _ := newCostPlayer(t, 0, "")
	body := "for i = 1, 100 do local x = i end return string.rep('x', tonumber(ARGV[1]))"
	decide := func(n, length int) *batchDecider {
		d := &batchDecider{Decider: p.env.Decider}
		p.env.Decider = d
		defer func() { p.env.Decider = d.Decider }()
		p.conns["owner"].traffic(bytes.Repeat(frame("EVAL", body, "0", strconv.Itoa(length)), n))
		p.settle()
		return d
	}
	p.do(t, "owner", "PING")
	decide(1, 1)
	if d := decide(16, 1); d.batches != 1 || d.mostOps != 16 {
		t.Errorf("16 scripts are decided in %d batches, of at most %d", d.batches, d.mostOps)
	}
	if d := decide(200, 1); d.mostOps > 64 {
		t.Errorf("%d scripts are decided at once", d.mostOps)
	}
	decide(1, 100_000)
	if d := decide(16, 100_000); d.bytes > 512<<10 || d.batches < 5 {
		t.Errorf("long replies: %d batches, of at most %d bytes", d.batches, d.bytes)
	}
}

// A transaction takes bounded work and memory, or is refused as a whole; cheap transactions still succeed.
func TestTransactionsAreBoundedByWork(t *testing.T) {
	p, _ := newCostPlayer(t, 0, "")
	fillSemaphore(p, "big", "%0248d")
	fillLog(p, "log", 20_000)
	exec := func(n int, command string) (*batchDecider, string) {
		d, out := costOf(t, p, append(append([]string{"MULTI"}, repeated(n, command)...), "EXEC")...)
		return d, strings.TrimPrefix(out, "+OK\r\n"+strings.Repeat("+QUEUED\r\n", n))
	}
	if d, out := exec(200, "CC.HOLDERS big"); d.bytes > engine.MaxListedBytes || len(out) > 4<<20 || !strings.Contains(out, "-ERR the holders, members or grants listed") {
		t.Errorf("%d bytes of holders, %d of replies: %.100q", d.bytes, len(out), out)
	}
	if d, out := exec(50, "SL.LOG log COUNT 10000"); d.bytes > engine.MaxListedBytes || len(out) > 4<<20 || !strings.Contains(out, "-ERR the holders, members or grants listed") {
		t.Errorf("%d bytes of grants, %d of replies: %.100q", d.bytes, len(out), out)
	}
	if d, out := exec(300, "SL.LOG log COUNT 10000"); d.batches > 0 || !strings.HasPrefix(out, "-ERR the transaction would take too long") {
		t.Errorf("%d batches: %.100q", d.batches, out)
	}
	if d, out := exec(1000, "CC.ACQUIRE big 10000 1h new"); d.batches > 0 || !strings.HasPrefix(out, "-ERR the transaction would take too long") {
		t.Errorf("%d batches: %.100q", d.batches, out)
	}
	if d, out := exec(1000, "EXISTS big"); d.batches > 0 || !strings.HasPrefix(out, "-ERR the transaction would take too long") {
		t.Errorf("%d batches: %.100q", d.batches, out)
	}
	if d, out := exec(5000, "TTL small"); d.batches != 1 || !strings.HasPrefix(out, "*5000\r\n:-2") {
		t.Errorf("%d batches: %.100q", d.batches, out)
	}
	if d, out := exec(1000, "CC.ACQUIRE fresh 10 1h new"); d.batches != 1 || !strings.HasPrefix(out, "*1000\r\n") {
		t.Errorf("%d batches: %.100q", d.batches, out)
	}
	if _, out := exec(5000, "SCAN 0"); !strings.HasPrefix(out, "-ERR the transaction would take too long") {
		t.Errorf("%.100q", out)
	}
	for _, command := range []string{"ZADD z 1 m", "HSET h f 1", "SADD s a", "SUNIONSTORE other s", "SMEMBERS s", "HMGET h f", "INCR n"} {
		if d, out := exec(1000, command); d.batches != 1 || !strings.HasPrefix(out, "*1000\r\n") {
			t.Errorf("%s: %d batches: %.100q", command, d.batches, out)
		}
	}
	members := ""
	for i := range 10_000 {
		if members += fmt.Sprint(" ", i); i%500 == 499 {
			p.do(t, "owner", "SADD many"+members)
			members = ""
		}
	}
	if d, out := exec(100, "SADD many 1 2 3 4 5 6 7"); d.batches != 1 || !strings.HasPrefix(out, "*100\r\n") {
		t.Errorf("%d batches: %.100q", d.batches, out) // the set is in blocks
	}
	for _, command := range []string{"SUNIONSTORE other many", "SMEMBERS many"} {
		if d, out := exec(100, command); d.batches > 0 || !strings.HasPrefix(out, "-ERR the transaction would take too long") {
			t.Errorf("%s: %d batches: %.100q", command, d.batches, out)
		}
	}
	fill := "SADD fresh" + strings.Repeat(" "+strings.Repeat("x", 90), 500)
	commands := append([]string{"MULTI", fill, fill, fill}, repeated(200, "SUNIONSTORE another fresh")...)
	if d, out := costOf(t, p, append(commands, "EXEC")...); d.batches > 0 || !strings.HasSuffix(out, "-"+command.ErrExecTooCostly.Error()+"\r\n") {
		t.Errorf("growing keys: %d batches: %.100q", d.batches, out)
	}
	if out := p.do(t, "owner", "EXISTS"+strings.Repeat(" big", 1000)); !strings.HasPrefix(out, "-ERR the keys hold too much") {
		t.Errorf("%.100q", out)
	}
	if out := p.do(t, "owner", "EXISTS"+strings.Repeat(" small", 1000)); out != ":0\r\n" {
		t.Errorf("%.100q", out)
	}
}
