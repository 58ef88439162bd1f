//go:build e2e

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// trio is three nodes of a cluster, each a process.
type trio struct {
	t     *testing.T
	ahead string
	dir   string
	peers []string
	nodes [3]*victim
}

func startTrio(t *testing.T, ahead string) *trio {
	t.Helper()
	c := &trio{t: t, ahead: ahead, dir: t.TempDir(), peers: testserver.ReserveAddresses(t, 3)}
	for i := range c.nodes {
		c.start(i)
	}
	c.await()
	return c
}

func (c *trio) start(i int) {
	c.t.Helper()
	c.nodes[i] = launch(c.t, asServer, "server", "--listen", "127.0.0.1:0", "--admin=", "--node-id", fmt.Sprint("n", i), "--dir", fmt.Sprint(c.dir, "/", i),
		"--cluster-listen", c.peers[i], "--cluster-peers", strings.Join(c.peers, ","), "--cluster-ahead", c.ahead, "--cluster-heartbeat", "1s", "--decide-timeout", "20s", // so that a busy machine causes neither elections nor refusals
		keepIdle[0], keepIdle[1]).victim
}

// await waits until every running node decides. A look decided by the leader also gives the node the leader's time.
func (c *trio) await() {
	c.t.Helper()
	for _, v := range c.nodes {
		if v == nil {
			continue
		}
		testwait.UntilNil(c.t, "a node decides", func() error {
			conn, err := dialExact(v.address)
			if err != nil {
				return err
			}
			defer conn.Close()
			text, err := conn.ask("TB.ACQUIRE", "awake", "1", "1", "PEEK")
			if err == nil && !strings.HasPrefix(text, "*5\r\n") {
				err = errors.New(text)
			}
			return err
		})
	}
}

// Three nodes give the model's answers, on every node, and after a kill of any node in between.
func TestExactOnThreeNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	p := newPlayer(t)
	p.calls.HideCounts()
	p.policiesLag = true // a change is refused by the overrides that the node knows
	c, random := startTrio(t, "0"), rand.New(rand.NewPCG(*exactSeed, 3))
	defer func() { p.hangUp() }()
	calls, down := *exactCalls/4, -1
	kills := calls / 5000
	for made := 0; made < calls; made = p.calls.Made() {
		if down < 0 && random.IntN(10) == 0 && kills > 0 {
			down, kills = random.IntN(3), kills-1
			c.await()
			p.hangUp()
			c.nodes[down].end(syscall.SIGKILL)
			c.nodes[down] = nil
			c.await()
		} else if down >= 0 && random.IntN(3) == 0 {
			c.start(down)
			c.await()
			down = -1
		}
		i := random.IntN(3)
		if i == down {
			continue
		}
		p.connect(c.nodes[i].address)
		p.play(made + 1 + random.IntN(60))
	}
}

// Three nodes, of which the leader takes tokens in its memory, give the model's answers while every call is part of a
// transaction: tokens that were taken in memory are handed over to the log, and no others are counted as taken.
func TestExactInTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	p := newPlayer(t)
	p.calls.HideCounts()
	p.calls.InTransactions = true
	p.policiesLag = true
	c, random := startTrio(t, "200ms"), rand.New(rand.NewPCG(*exactSeed, 5))
	defer func() { p.hangUp() }()
	for made := 0; made < *exactCalls/4; made = p.calls.Made() {
		p.connect(c.nodes[random.IntN(3)].address)
		p.play(made + 1 + random.IntN(60))
	}
}
