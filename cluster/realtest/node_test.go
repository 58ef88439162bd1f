//go:build e2e

package realtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// node is a server process of a cluster. Its directory and addresses stay when it is started again.
type node struct {
	*testserver.Process
	name   string
	dir    string       // of its state
	torn   string       // the file that was last cut off
	pauses atomic.Int64 // how often it was stopped by SIGSTOP
}

// processes is a cluster of nodes, the proxies between them, and where it all lies.
type processes struct {
	t        testing.TB
	names    []string
	replicas int // of each group of keys
	nodes    map[string]*node
	net      network
}

// startCluster starts three nodes and waits until they decide. They decide in the log alone, unless the options say otherwise.
func startCluster(t testing.TB, options ...string) *processes {
	t.Helper()
	return startClusterOf(t, 3, nil, options...)
}

// startClusterOf is startCluster for a number of nodes, with options that single nodes have.
func startClusterOf(t testing.TB, nodes int, own map[string][]string, options ...string) *processes {
	t.Helper()
	c := &processes{t: t, names: []string{"a", "b", "c", "d", "e"}[:nodes], replicas: nodes, nodes: map[string]*node{}}
	c.net = newNetwork(c.names)
	program := testserver.Build(t, "../..")
	addresses := testserver.ReserveAddresses(t, len(c.names))
	var peers []string
	for i, name := range c.names {
		peers = append(peers, startProxy(t, c.net, name, addresses[i]))
	}
	for i, name := range c.names {
		p := testserver.NewServer(t, program, slices.Concat([]string{"--node-id", name, "--admin", "", "--dir", "state", "--cluster-listen", addresses[i],
			"--cluster-advertise", peers[i], "--cluster-peers", strings.Join(peers, ","), "--bootstrap-expect", strconv.Itoa(nodes), "--cluster-ahead", "0"}, options, own[name])...)
		c.nodes[name] = &node{Process: p, name: name, dir: filepath.Join(p.Dir, "state")}
	}
	t.Cleanup(c.stop)
	for _, name := range c.names {
		c.nodes[name].Start(t)
	}
	c.awaitAll()
	return c
}

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
func (c *processes) awaitAll() {
	c.t.Helper()
	for _, name := range c.names {
		testwait.UntilNil(c.t, name+" decides after everything was mended", func() error {
			err := c.try(name)
			if is, state := c.nodes[name].Running(); err != nil && !is {
				c.t.Fatalf("%s has ended (%v)", name, state)
			}
			return err
		})
	}
}

// try takes a token at a node.
func (c *processes) try(name string) error {
	_, err := ask(c.nodes[name].Address, "TB.ACQUIRE", "awake", "1000000000", "1000000/s")
	return err
}

// leader asks the nodes who leads, and waits until one does.
func (c *processes) leader() (leader *node) {
	c.t.Helper()
	testwait.Until(c.t, "there is a leader", func() bool {
		for _, name := range c.names {
			if r, err := ask(c.nodes[name].Address, "RAFT", "INFO"); err == nil && r.field("state") == "leader" {
				leader = c.nodes[name]
			}
		}
		return leader != nil
	})
	return leader
}

// isWhole returns an error unless all nodes, and the replicas of each group, vote and are reached.
func (c *processes) isWhole() error {
	r, err := ask(c.leader().Address, "RAFT", "NODES")
	if err != nil {
		return err
	}
	n := 0
	for _, member := range r.items {
		if role := member.field("role"); member.field("reachable") == "1" && (role == "leader" || role == "follower") {
			n++
		}
	}
	if n != len(c.names) {
		return fmt.Errorf("%d of %d nodes vote", n, len(c.names))
	}
	groups, err := ask(c.leader().Address, "RAFT", "GROUPS")
	if err != nil {
		return err
	}
	for _, g := range groups.items {
		if voters := g.field("voters"); voters != strconv.Itoa(c.replicas) {
			return fmt.Errorf("%s of %d replicas of group %s vote", voters, c.replicas, g.field("group"))
		}
	}
	return nil
}

// awaitWhole waits until all nodes and replicas vote, and no more: before that nothing may be wiped.
func (c *processes) awaitWhole() {
	c.t.Helper()
	testwait.UntilNil(c.t, "all nodes vote after everything was mended", c.isWhole)
}
