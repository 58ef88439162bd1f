//go:build e2e

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// A fourth node joins every group by being started, one that has lost its disk comes back by being started, and one
// that was removed leaves every group: nothing is forgotten, and every limit counts on.
func TestNodesOfGroupsComeAndGo(t *testing.T) {
	const groups = 4
	program := testserver.Build(t, filepath.Join("..", ".."))
	peers := testserver.ReserveAddresses(t, 4)
	start := func(i, known int) *testserver.Process {
		node := testserver.NewServer(t, program, "--node-id", fmt.Sprint("node", i+1), "--cluster-listen", peers[i], "--cluster-peers", strings.Join(peers[:known], ","),
			"--bootstrap-expect", "3", "--dir", "state", "--admin", "127.0.0.1:0", "--cluster-heartbeat", "1s", "--decide-timeout", "20s", "--groups", fmt.Sprint(groups))
		node.Start(t)
		t.Cleanup(func() { node.Stop(t) })
		node.AwaitReady(t)
		return node
	}
	nodes := []*testserver.Process{start(0, 3), start(1, 3), start(2, 3)}
	for _, node := range nodes {
		node.AwaitFormed(t)
		awaitGroups(t, node.Address)
	}
	left := 7
	take := func(of []*testserver.Process) {
		t.Helper()
		left--
		for i := range 4 * groups { // keys of every group
			if got := ask(t, of[i%len(of)].Address, fmt.Sprintf("TB.ACQUIRE key:%d 7 1/d", i)); !strings.HasPrefix(got, fmt.Sprintf("[1 7 %d ", left)) {
				t.Errorf("key:%d: %s, want %d left", i, got, left)
			}
		}
	}
	voters := func(of []*testserver.Process, want int) {
		t.Helper()
		for _, node := range of {
			testwait.UntilNil(t, fmt.Sprintf("every group has %d voters", want), func() error {
				if got := askLine(t, node.Address, "RAFT GROUPS"); strings.Count(got, fmt.Sprintf(`"voters" %d`, want)) != groups {
					return fmt.Errorf("%s", got)
				}
				return nil
			})
		}
	}
	take(nodes)
	nodes = append(nodes, start(3, 4))
	voters(nodes, 4)
	take(nodes)
	testwait.Until(t, "the new node leads a group", func() bool {
		return strings.Contains(ask(t, nodes[3].Address, "CLUSTER INFO"), "cluster_size:4")
	})

	testwait.UntilNil(t, "a node that --cluster-peers of the others do not name leads", func() error {
		if got := ask(t, nodes[0].Address, "RAFT TRANSFER node4"); got != "+OK" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	for _, wiped := range nodes[1:2] {
		if err := wiped.End(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		others := []*testserver.Process{nodes[0], nodes[2], nodes[3]}
		for _, node := range others {
			awaitGroups(t, node.Address, "node2")
		}
		take(others)
		if err := os.RemoveAll(filepath.Join(wiped.Dir, "state")); err != nil {
			t.Fatal(err)
		}
		wiped.Start(t)
		wiped.AwaitReady(t)
	}
	voters(nodes, 4)
	take(nodes)

	gone := nodes[0]
	if err := gone.End(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	nodes = nodes[1:]
	for _, node := range nodes {
		awaitGroups(t, node.Address, "node1")
	}
	testwait.UntilNil(t, "it is removed", func() error {
		if got := ask(t, nodes[1].Address, "RAFT REMOVE node1"); got != "+OK" && !strings.Contains(got, "no member") {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	voters(nodes, 3)
	take(nodes)
	gone.Start(t) // it stays away until it is added
	testwait.UntilNil(t, "it is added", func() error {
		if got := ask(t, nodes[1].Address, "RAFT ADD node1 "+peers[0]); got != "+OK" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	gone.AwaitReady(t)
	nodes = append(nodes, gone)
	voters(nodes, 4)
	take(nodes)

	if got := ask(t, gone.Address, "RAFT ADD node1 "+peers[0]+" NONVOTER"); got != "+OK" {
		t.Error(got)
	}
	voters(nodes, 3)
	for _, node := range nodes {
		if got := askLine(t, node.Address, "RAFT GROUPS"); strings.Count(got, `"nonvoters" "node1"`) != groups {
			t.Errorf("%s", got)
		}
	}
	if top, err := testserver.Command(t, program, "top", "--once", "--admin", gone.Admin(t)).CombinedOutput(); err != nil || !regexp.MustCompile(`(?m)^node1 +nonvoter `).Match(top) {
		t.Errorf("%v: %s", err, top)
	}
	take(nodes)
}
