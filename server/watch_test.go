package server

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwatch"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/transcripttest"
)

// watchConn is a connection of the Redis protocol.
type watchConn struct {
	t  *testing.T
	to net.Conn
	in *bufio.Reader
}

// send sends commands in one write and returns their replies.
func (c *watchConn) send(commands ...[]string) (all []string) {
	var out []byte
	for _, words := range commands {
		out = append(out, frames(strings.Join(words, " "))...)
	}
	if _, err := c.to.Write(out); err != nil {
		c.t.Error(err)
	}
	for range commands {
		reply, err := transcripttest.ReadReply(c.in)
		if err != nil {
			c.t.Error(err)
		}
		all = append(all, reply)
	}
	return all
}

func (c *watchConn) Do(words ...string) (string, testwatch.Outcome) {
	return c.send(words)[0], testwatch.Answered
}

func (c *watchConn) Watch(keys ...string) testwatch.Outcome {
	if reply := c.send(append([]string{"WATCH"}, keys...))[0]; reply != "+OK" {
		c.t.Error("WATCH is answered with", reply)
	}
	return testwatch.Answered
}

func (c *watchConn) Exec(commands [][]string) (string, testwatch.Outcome) {
	all := append([][]string{{"MULTI"}}, commands...)
	replies := c.send(append(all, []string{"EXEC"})...)
	return replies[len(replies)-1], testwatch.Answered
}

// Transactions of many connections at once are carried out if none of their watched keys has changed, and only then.
func TestWatchedKeysOfManyConnections(t *testing.T) {
	const clients, requests = 5, 20
	h := serve(t)
	var sum testwatch.Counts
	for round := range testsize.Pick(10, 300) {
		history := &testwatch.History{Name: fmt.Sprint("watched", round, "-")}
		var running sync.WaitGroup
		for client := range clients {
			r := rand.New(rand.NewPCG(testsize.Seed(), uint64(round*clients+client)))
			running.Go(func() {
				history.Client(r, requests, func() testwatch.Connection {
					to := h.dial(t)
					return &watchConn{t, to, bufio.NewReader(to)}
				})
			})
		}
		running.Wait()
		if history.Check(t, &sum); t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("seed %d: %+v", testsize.Seed(), sum)
	if sum.Executed == 0 || sum.Refused == 0 {
		t.Error("too little happened to show anything")
	}
}

// A connection watches a bounded number of keys. Where that is too much, its next EXEC does nothing.
func TestWatchedKeysAreBounded(t *testing.T) {
	h := serve(t)
	dial := func() *watchConn {
		to := h.dial(t)
		return &watchConn{t, to, bufio.NewReader(to)}
	}
	keys := func(from, to, bytes int) (words []string) {
		words = []string{"WATCH"}
		for i := from; i < to; i++ {
			words = append(words, fmt.Sprintf("%0*d", bytes, i))
		}
		return words
	}
	refused := "-" + command.ErrWatchesTooMuch.With(engine.MaxExpected).Error()
	c, ping := dial(), [][]string{{"PING"}}
	for _, test := range []struct {
		name  string
		watch [][]string
		keys  int
		reply string
		exec  string
	}{
		{"as many as may be", [][]string{keys(0, 600, 8), keys(500, engine.MaxExpected, 8)}, engine.MaxExpected, "+OK", "[+PONG]"},
		{"one more", [][]string{keys(0, 600, 8), keys(600, engine.MaxExpected+1, 8)}, engine.MaxExpected, refused, "nil[]"},
		{"none", [][]string{{"UNWATCH"}}, 0, "+OK", "[+PONG]"},
	} {
		for i, words := range test.watch {
			if reply := c.send(words)[0]; i == len(test.watch)-1 && reply != test.reply {
				t.Errorf("%s: %s", test.name, reply)
			}
		}
		if line := c.send([]string{"CLIENT", "INFO"})[0]; !strings.Contains(line, fmt.Sprintf(" watch=%d ", test.keys)) {
			t.Errorf("%s: CLIENT INFO is %s", test.name, line)
		}
		if reply, _ := c.Exec(ping); reply != test.exec {
			t.Errorf("%s: EXEC is answered with %s", test.name, reply)
		}
	}
}
