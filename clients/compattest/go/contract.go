package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// contract runs the checks that every client library of every language runs; ../README.md lists them.
// Limits refill so slowly (a token an hour, a token a day) that no reply depends on how fast the test runs.
type contract struct {
	name     string
	protocol int
	library  string
	connect  func() (client, error)
	nodes    []string // of the cluster, if the client is one for clusters

	client   client
	checks   int
	failures int
}

func (t *contract) run() {
	c, err := t.connect()
	if !t.check(err == nil, "connect: %v", err) {
		return
	}
	defer c.close()
	t.client = c
	t.handshake()
	t.pipelined()
	t.tokenBucket()
	t.errors()
	t.transaction()
	t.keys()
	t.concurrency()
	t.cached()
	if t.nodes != nil {
		t.follow()
	}
}

func (t *contract) check(ok bool, format string, args ...any) bool {
	t.checks++
	if !ok {
		t.failures++
		fmt.Fprintf(os.Stderr, "%s: FAILED: %s\n", t.name, fmt.Sprintf(format, args...))
	}
	return ok
}

func (t *contract) handshake() {
	pong, err := t.client.ping()
	t.check(err == nil && pong == "PONG", "PING: got %q, %v", pong, err)

	info, err := t.client.info()
	t.check(err == nil, "CLIENT INFO: %v", err)
	for _, field := range []string{"name=" + clientName, fmt.Sprintf("resp=%d", t.protocol)} {
		t.check(slices.Contains(strings.Fields(info), field), "CLIENT INFO: no %s in %q", field, info)
	}
	if t.library != "" {
		t.check(strings.Contains(info, " lib-name="+t.library), "CLIENT INFO: no lib-name=%s in %q", t.library, info)
	}
}

func (t *contract) pipelined() {
	key := t.fresh("pipeline")
	commands := make([][]string, 100)
	for i := range commands {
		commands[i] = []string{"CL.THROTTLE", key, "4", "1", "86400"}
	}
	replies := t.client.pipeline(commands)
	if !t.check(len(replies) == len(commands), "pipeline: %d replies to %d commands", len(replies), len(commands)) {
		return
	}
	for i, reply := range replies {
		r, ok := integers(reply)
		retry, reset := r[3], r[4]
		if i < 5 {
			ok = ok && slices.Equal(r[:4], []int64{0, 5, int64(4 - i), -1}) && reset > 0
		} else {
			ok = ok && slices.Equal(r[:3], []int64{1, 5, 0}) && retry > 0 && retry <= 86400 && reset > 0
		}
		t.check(ok, "pipeline: reply %d: got %v", i+1, reply)
	}
}

func (t *contract) tokenBucket() {
	key := t.fresh("bucket")
	t.reply("1 10 9 0 12000", "TB.ACQUIRE", key, "10", "5/m")

	key = t.fresh("options")
	t.reply("4 10 6 0 *", "TB.ACQUIRE", key, "10", "1/h", "4")
	t.reply("6 10 * 0 *", "TB.ACQUIRE", key, "10", "1/h", "6", "PEEK")
	t.reply("6 10 0 0 *", "TB.ACQUIRE", key, "10", "1/h", "10", "UPTO")
	t.reply("0 10 0 + *", "TB.ACQUIRE", key, "10", "1/h")
	t.reply("0 10 0 -1 *", "TB.ACQUIRE", key, "10", "1/h", "11")

	key = t.fresh("binary\x00\xff\r\n")
	t.reply("1 10 9 0 12000", "TB.ACQUIRE", key, "10", "5/m")
}

func (t *contract) errors() {
	key := t.fresh("errors")
	t.fails("capacity: must be an integer between 1 and 1000000000000, got 'ten'", "TB.ACQUIRE", key, "ten", "1")
	t.fails("wrong number of arguments for 'tb.acquire' command", "TB.ACQUIRE", key)
	t.fails("unknown command 'TB.NONSUCH'", "TB.NONSUCH", key)
	t.reply("0 5 4 -1 86400", "CL.THROTTLE", key, "4", "1", "86400")
	t.fails("WRONGTYPE", "TB.ACQUIRE", key, "10", "1")

	// An error in a pipeline is the answer to one command and to no other.
	key = t.fresh("mixed")
	replies := t.client.pipeline([][]string{
		{"TB.ACQUIRE", key, "10", "1/h"},
		{"TB.ACQUIRE", key, "10", "fast"},
		{"TB.ACQUIRE", key, "10", "1/h"},
	})
	if !t.check(len(replies) == 3, "mixed pipeline: got %v", replies) {
		return
	}
	err, _ := replies[1].(error)
	t.check(matches(replies[0], "1 10 9 0 *"), "mixed pipeline: reply 1: got %v", replies[0])
	t.check(t.client.isServerError(err) && strings.Contains(err.Error(), "rate: "), "mixed pipeline: reply 2: got %v", replies[1])
	t.check(matches(replies[2], "1 10 8 0 *"), "mixed pipeline: reply 3: got %v", replies[2])
}

func (t *contract) transaction() {
	throttle, bucket := t.fresh("transaction-1"), t.fresh("transaction-2")
	replies, err := t.client.transaction([][]string{
		{"CL.THROTTLE", throttle, "4", "1", "86400"},
		{"CL.THROTTLE", throttle, "4", "1", "86400"},
		{"TB.ACQUIRE", bucket, "10", "5/m"},
	})
	if !t.check(err == nil && len(replies) == 3, "EXEC: got %v, %v", replies, err) {
		return
	}
	for i, want := range []string{"0 5 4 -1 86400", "0 5 3 -1 +", "1 10 9 0 12000"} {
		t.check(matches(replies[i], want), "EXEC: reply %d: got %v, want %s", i+1, replies[i], want)
	}
}

func (t *contract) keys() {
	throttle, bucket := t.fresh("keys-1"), t.fresh("keys-2")
	t.reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, "4", "1", "86400")
	t.reply("1 10 9 0 3600000", "TB.ACQUIRE", bucket, "10", "1/h")
	t.state(throttle, "gcra", 86400)
	t.state(bucket, "token-bucket", 3600)

	n, err := t.client.del(throttle)
	t.check(err == nil && n == 1, "DEL: got %d, %v", n, err)
	s, err := t.client.key(throttle)
	t.check(err == nil && s == keyState{0, "none", -2, -2}, "after DEL: got %+v, %v", s, err)
	t.reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, "4", "1", "86400")
}

// concurrency has eight clients ask fifty times each for one of fifty tokens.
func (t *contract) concurrency() {
	key := t.fresh("concurrency")
	var granted, answered atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		c, err := t.connect()
		if !t.check(err == nil, "connect: %v", err) {
			continue
		}
		wg.Go(func() {
			defer c.close()
			for range 50 {
				reply, err := c.do("TB.ACQUIRE", key, "50", "1/h")
				if r, ok := integers(reply); err == nil && ok {
					answered.Add(1)
					granted.Add(r[0])
				}
			}
		})
	}
	wg.Wait()
	t.check(answered.Load() == 400, "concurrency: %d answers to 400 attempts", answered.Load())
	t.check(granted.Load() == 50, "concurrency: %d granted of 50", granted.Load())
}

// follow has the leader change; the client finds the new one, and takes up no more tokens than there are.
func (t *contract) follow() {
	key := t.fresh("follow")
	for i := range 10 {
		if i%3 == 1 {
			err := transferLeadership(t.nodes[i%len(t.nodes)])
			t.check(err == nil, "RAFT TRANSFER: %v", err)
		}
		t.reply(fmt.Sprintf("1 10 %d 0 *", 9-i), "TB.ACQUIRE", key, "10", "1/d")
	}
	t.reply("0 10 0 + *", "TB.ACQUIRE", key, "10", "1/d")
}

// fresh returns a key of this client's own, reset. All of them are in one slot, as clients for clusters want the keys of
// a transaction to be.
func (t *contract) fresh(name string) string {
	key := "{" + t.name + "} " + name
	_, err := t.client.del(key)
	t.check(err == nil, "DEL: %v", err)
	return key
}

func (t *contract) reply(want string, command ...string) {
	got, err := t.client.do(command...)
	t.check(err == nil && matches(got, want), "%q: got %v, %v, want %s", command, got, err, want)
}

func (t *contract) fails(text string, command ...string) {
	reply, err := t.client.do(command...)
	t.check(t.client.isServerError(err) && strings.Contains(err.Error(), text), "%q: got %v, %v, want an error: %s", command, reply, err, text)
}

func (t *contract) state(key, kind string, seconds int64) {
	s, err := t.client.key(key)
	t.check(err == nil, "%s: %v", key, err)
	t.check(s.exists == 1, "EXISTS: got %d", s.exists)
	t.check(s.kind == kind, "TYPE: got %q, want %q", s.kind, kind)
	t.check(0 < s.ttl && s.ttl <= seconds, "TTL: got %d", s.ttl)
	t.check(0 < s.pttl && s.pttl <= seconds*1000, "PTTL: got %d", s.pttl)
}

// matches compares five integers to a pattern: * is any of them, + one above zero.
func matches(reply any, pattern string) bool {
	r, ok := integers(reply)
	for i, want := range strings.Fields(pattern) {
		switch want {
		case "*":
		case "+":
			ok = ok && r[i] > 0
		default:
			ok = ok && fmt.Sprint(r[i]) == want
		}
	}
	return ok
}

// integers is a limiter's reply; without ok it is not one, and r holds five zeros.
func integers(reply any) (r []int64, ok bool) {
	values, _ := reply.([]any)
	for _, v := range values {
		if n, isInt := v.(int64); isInt {
			r = append(r, n)
		}
	}
	if len(values) != 5 || len(r) != 5 {
		return make([]int64, 5), false
	}
	return r, true
}
