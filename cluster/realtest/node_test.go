//go:build e2e

package realtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// node is a server process of a cluster, with a directory and addresses that stay when it is started again.
type node struct {
	name    string
	program string
	options []string
	client  string // where clients reach it
	dir     string
	log     string
	torn    string // the file that was last cut off

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has ended
	pauses atomic.Int64  // how often it was stopped by SIGSTOP
}

// processes is a cluster of three nodes, the proxies between them, and where it all lies.
type processes struct {
	t     testing.TB
	names []string
	nodes map[string]*node
	net   network
}

// startCluster starts three nodes and waits until they decide.
func startCluster(t testing.TB, options ...string) *processes {
	t.Helper()
	c := &processes{t: t, names: []string{"a", "b", "c"}, nodes: map[string]*node{}}
	c.net = newNetwork(c.names)
	program := testserver.Build(t, "../..")
	ports := freePorts(t, 3*len(c.names))
	var peers []string
	for i := range c.names {
		peers = append(peers, loopback(ports[3*i]))
	}
	for i, name := range c.names {
		client, listen := loopback(ports[3*i+1]), loopback(ports[3*i+2])
		startProxy(t, c.net, name, peers[i], listen)
		dir := filepath.Join(t.TempDir(), name)
		c.nodes[name] = &node{name: name, program: program, client: client, dir: dir, log: dir + ".log", options: append([]string{"server", "--node-id", name,
			"--listen", client, "--admin", "", "--dir", dir, "--cluster-listen", listen, "--cluster-advertise", peers[i], "--cluster-peers", strings.Join(peers, ","),
			"--bootstrap-expect", "3"}, options...)}
	}
	t.Cleanup(c.stop)
	for _, name := range c.names {
		c.nodes[name].start(t)
	}
	c.awaitAll(startTimeout)
	return c
}

const startTimeout = 30 * time.Second

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// freePorts finds ports that nobody listens on, and that no outgoing connection takes while a node is down: they lie below
// those that systems hand out.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for tries := 0; len(ports) < n; tries++ {
		if tries > 1000 {
			t.Fatal("no free ports")
		}
		port := 12_000 + rand.IntN(18_000)
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		_ = l.Close()
		ports = append(ports, port)
	}
	return ports
}

// start starts the process. It does not wait until it serves.
func (n *node) start(t testing.TB) {
	t.Helper()
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd, ended := exec.Command(n.program, n.options...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	n.cmd, n.ended = cmd, ended
	n.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(ended)
	}()
}

// end sends the process a signal and waits until it has ended.
func (n *node) end(how syscall.Signal) error {
	n.mu.Lock()
	cmd, ended := n.cmd, n.ended
	n.mu.Unlock()
	_ = cmd.Process.Signal(how) // an error means that it is gone already
	select {
	case <-ended:
		return nil
	case <-time.After(endTimeout):
		_ = cmd.Process.Kill()
		<-ended
		return fmt.Errorf("%s has not ended within %v of %v", n.name, endTimeout, how)
	}
}

const endTimeout = 20 * time.Second

// running reports whether the process has not ended, and how it did otherwise.
func (n *node) running() (is bool, state *os.ProcessState) {
	n.mu.Lock()
	cmd, ended := n.cmd, n.ended
	n.mu.Unlock()
	select {
	case <-ended:
		return false, cmd.ProcessState
	default:
		return true, nil
	}
}

// pause stops the process where it is; resume lets it go on.
func (n *node) pause() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pauses.Add(1)
	_ = n.cmd.Process.Signal(syscall.SIGSTOP)
}

func (n *node) resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.cmd.Process.Signal(syscall.SIGCONT)
	n.pauses.Add(1)
}

// lastLines is the end of the process's log.
func (n *node) lastLines() string {
	text, _ := os.ReadFile(n.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-25):], []byte("\n")))
}

func (c *processes) stop() {
	c.net.mend()
	for _, n := range c.nodes {
		if n.cmd != nil {
			n.resume()
			_ = n.end(syscall.SIGKILL)
		}
		if c.t.Failed() {
			c.t.Logf("%s, the end of its log:\n%s", n.name, n.lastLines())
		}
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
			if is, state := c.nodes[name].running(); !is {
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
	_, err := ask(c.nodes[name].client, "TB.ACQUIRE", "awake", "1000000000", "1000000/s")
	return err
}

// leader asks the nodes who leads, and waits until one does.
func (c *processes) leader() *node {
	c.t.Helper()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, name := range c.names {
			r, err := ask(c.nodes[name].client, "RAFT", "INFO")
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
	r, err := ask(c.leader().client, "RAFT", "NODES")
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
