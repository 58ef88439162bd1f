package testserver

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

const replyTimeout = 10 * time.Second

// StartCluster starts the nodes of a cluster, with no settings but those they need and the options, and returns their
// addresses once they have formed it. The test's end stops them.
func StartCluster(t testing.TB, program string, nodes int, options ...string) (addresses []string) {
	t.Helper()
	for _, node := range StartNodes(t, program, nodes, options...) {
		addresses = append(addresses, node.Address)
	}
	return addresses
}

// StartNodes is StartCluster for tests that end nodes. They must be running again at the test's end.
func StartNodes(t testing.TB, program string, count int, options ...string) (nodes []*Process) {
	t.Helper()
	nodes = NewNodes(t, program, count, options...)
	for _, node := range nodes {
		node.Start(t)
		t.Cleanup(func() { node.Stop(t) })
		node.AwaitReady(t)
	}
	for _, node := range nodes {
		node.AwaitFormed(t)
	}
	return nodes
}

// NewNodes describes the nodes of a cluster, with no settings but those they need and the options.
func NewNodes(t testing.TB, program string, count int, options ...string) (nodes []*Process) {
	t.Helper()
	peers := ReserveAddresses(t, count)
	for i, own := range peers {
		nodes = append(nodes, NewServer(t, program, append([]string{
			"--node-id", fmt.Sprint("node", i+1), "--cluster-listen", own, "--cluster-peers", strings.Join(peers, ","), "--dir", "state",
			"--admin", "", "--cluster-heartbeat", "1s", "--decide-timeout", "20s", // so that a busy machine causes neither elections nor refusals
		}, options...)...))
	}
	return nodes
}

// AwaitFormed waits until a node leads or has caught up with a leader.
func (p *Process) AwaitFormed(t testing.TB) {
	t.Helper()
	p.Await(t, "it is in a cluster", func() bool { return p.Says("CLUSTER INFO", "cluster_state:ok") })
}

// Leads reports whether a node is the leader.
func (p *Process) Leads() bool { return p.Says("INFO replication", "role:master") }

// HandOver has a leader give up leadership to another node. It reports whether that was done.
func (p *Process) HandOver() bool { return p.Says("RAFT TRANSFER", "+OK") }

// Says reports whether a line is in the answer to a command.
func (p *Process) Says(command, line string) bool {
	conn, err := net.DialTimeout("tcp", p.Address, replyTimeout)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	if _, err := conn.Write([]byte(command + "\r\nQUIT\r\n")); err != nil {
		return false
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == line {
			return true
		}
	}
	return false
}
