//go:build e2e

package realtest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// node is a server process of a cluster. Its directory and addresses stay when it is started again.
type node struct {
	*testserver.Process
	name   string
	dir    string       // of its state
	torn   string       // the file that was last cut off
	pauses atomic.Int64 // how often it was stopped by SIGSTOP
}

// processes is a cluster of three nodes, the proxies between them, and where it all lies.
type processes struct {
	t     testing.TB
	names []string
	nodes map[string]*node
	net   network
}

// startCluster starts three nodes and waits until they decide. They decide in the log alone, unless the options say otherwise.
func startCluster(t testing.TB, options ...string) *processes {
	t.Helper()
	c := &processes{t: t, names: []string{"a", "b", "c"}, nodes: map[string]*node{}}
	c.net = newNetwork(c.names)
	program := testserver.Build(t, "../..")
	addresses := testserver.ReserveAddresses(t, len(c.names))
	var peers []string
	for i, name := range c.names {
		peers = append(peers, startProxy(t, c.net, name, addresses[i]))
	}
	for i, name := range c.names {
		p := testserver.NewServer(t, program, append([]string{"--node-id", name, "--admin", "", "--dir", "state", "--cluster-listen", addresses[i],
			"--cluster-advertise", peers[i], "--cluster-peers", strings.Join(peers, ","), "--bootstrap-expect", "3", "--cluster-ahead", "0"}, options...)...)
		c.nodes[name] = &node{Process: p, name: name, dir: filepath.Join(p.Dir, "state")}
	}
	t.Cleanup(c.stop)
	for _, name := range c.names {
		c.nodes[name].Start(t)
	}
	c.awaitAll(startTimeout)
	return c
}

const startTimeout = 30 * time.Second

// pause stops the process where it is; resume lets it go on.
func (n *node) pause() {
	n.pauses.Add(1)
	n.Signal(syscall.SIGSTOP)
}

func (n *node) resume() {
	n.Signal(syscall.SIGCONT)
	n.pauses.Add(1)
}

func (c *processes) stop() {
	c.net.mend()
	for _, n := range c.nodes {
		n.resume()
		_ = n.End(syscall.SIGKILL)
	}
}

// awaitAll waits until every node answers an acquire.
func (c *processes) awaitAll(timeout time.Duration) {
	c.t.Helper()
	deadline := time.Now().Add(timeout)
	for _, name := range c.names {
		for {
			err := c.try(name)
			if err == nil {
				break
			}
			if is, state := c.nodes[name].Running(); !is {
				c.t.Fatalf("%s has ended (%v)", name, state)
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("%s does not decide %v after everything was mended: %v", name, timeout, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// try takes a token at a node.
func (c *processes) try(name string) error {
	_, err := ask(c.nodes[name].Address, "TB.ACQUIRE", "awake", "1000000000", "1000000/s")
	return err
}

// leader asks the nodes who leads, and waits until one does.
func (c *processes) leader() *node {
	c.t.Helper()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, name := range c.names {
			r, err := ask(c.nodes[name].Address, "RAFT", "INFO")
			if err == nil && r.field("state") == "leader" {
				return c.nodes[name]
			}
		}
	}
	c.t.Fatal("there is no leader")
	return nil
}

// voters counts the members with a vote that the leader reaches.
func (c *processes) voters() (n int, err error) {
	r, err := ask(c.leader().Address, "RAFT", "NODES")
	if err != nil {
		return 0, err
	}
	for _, member := range r.items {
		if role := member.field("role"); member.field("reachable") == "1" && (role == "leader" || role == "follower") {
			n++
		}
	}
	return n, nil
}

// awaitWhole waits until all nodes vote, and no more: before that nothing may be wiped.
func (c *processes) awaitWhole() {
	c.t.Helper()
	var err error
	n := 0
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if n, err = c.voters(); err == nil && n == len(c.names) {
			return
		}
	}
	c.t.Fatal(errors.Join(fmt.Errorf("%d of %d nodes vote %v after everything was mended", n, len(c.names), startTimeout), err))
}
