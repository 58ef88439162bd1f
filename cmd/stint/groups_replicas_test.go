//go:build e2e

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// Each group is on three of five nodes. Any node answers any key, waits for any and backs up all, a node that is killed
// takes nothing with it, and one that is added gets replicas.
func TestReplicasOnSomeNodes(t *testing.T) {
	const groups, keys, decideTimeout = 4, 16, "10s" // a replica that leaves waits for twice that
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartNodes(t, program, 5, "--groups", fmt.Sprint(groups), "--cluster-replicas", "3", "--admin", "127.0.0.1:0", "--decide-timeout", decideTimeout)
	for _, node := range nodes {
		awaitGroups(t, node.Address)
		testwait.Until(t, "each group has three replicas", func() bool { return strings.Count(ask(t, node.Address, "RAFT GROUPS"), ",node") == 2*groups })
	}
	left := 100
	take := func(of []*testserver.Process) {
		t.Helper()
		for _, node := range of {
			left--
			for i := range keys {
				if got := ask(t, node.Address, fmt.Sprintf("TB.ACQUIRE key:%d 100 1/d", i)); !strings.HasPrefix(got, fmt.Sprintf("[1 100 %d ", left)) {
					t.Errorf("%s: key:%d: %s, want %d left", node.Address, i, got, left)
				}
			}
		}
	}
	take(nodes)
	for i, node := range nodes { // a client waits at one node, another one pushes at the next
		key, got := fmt.Sprint("list:", i), make(chan string)
		go func() { got <- ask(t, node.Address, "BLPOP "+key+" 30") }()
		next := nodes[(i+1)%len(nodes)].Address
		if pushed := ask(t, next, "RPUSH "+key+" x"); pushed != "1" {
			t.Error(pushed)
		}
		if got := <-got; got != fmt.Sprintf(`["%s" "x"]`, key) {
			t.Errorf("BLPOP: %s", got)
		}
	}
	if got := ask(t, nodes[0].Address, "CLIENT TRACKING ON"); !strings.Contains(got, "cluster-replicas") {
		t.Error(got)
	}
	if got := ask(t, nodes[0].Address, "RL.POLICY SET keys TB key:{} 100 1/d"); got != "+OK" {
		t.Error(got)
	}
	elsewhere := regexp.MustCompile(`\[([0-9 ]*)\] ?\]$`)
	testwait.Until(t, "each group is elsewhere for two of the five nodes", func() bool {
		missing := 0
		for _, node := range nodes {
			numbers := elsewhere.FindStringSubmatch(askLine(t, node.Address, "RL.POLICY CALLERS keys 0"))
			missing += len(strings.Fields(numbers[1]))
		}
		return missing == 2*groups
	})
	out, err := testserver.Command(t, program, "policy", "usage", "--admin", nodes[0].Admin(t), "keys").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the output is not complete") {
		t.Errorf("usage: %v: %s", err, out)
	}
	for i, node := range nodes {
		file := filepath.Join(t.TempDir(), fmt.Sprint("backup", i))
		if out, err := testserver.Command(t, program, "backup", "--admin", node.Admin(t), file).CombinedOutput(); err != nil || !strings.Contains(string(out), fmt.Sprint(keys, " keys")) {
			t.Errorf("backup: %v: %s", err, out)
		}
	}
	if err := nodes[2].End(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	others := append(nodes[:2:2], nodes[3:]...)
	for _, node := range others {
		awaitGroups(t, node.Address, "node3")
	}
	take(others)
	nodes[2].Start(t)
	nodes[2].AwaitReady(t)
	testwait.Until(t, "it is healthy again", func() bool { return nodes[2].Says("CLUSTER INFO", "cluster_state:ok") })
	take(nodes)

	// A sixth node gets replicas, which leave others.
	peers := make([]string, 6)
	for i := range 5 {
		peers[i] = regexp.MustCompile(fmt.Sprintf(`"id" "node%d" *"addr" "([^"]*)"`, i+1)).FindStringSubmatch(askLine(t, nodes[0].Address, "RAFT NODES"))[1]
	}
	peers[5] = testserver.ReserveAddress(t)
	sixth := testserver.NewServer(t, program, "--node-id", "node6", "--cluster-listen", peers[5], "--cluster-peers", strings.Join(peers, ","), "--bootstrap-expect", "5",
		"--dir", "state", "--admin", "", "--cluster-heartbeat", "1s", "--decide-timeout", decideTimeout, "--groups", fmt.Sprint(groups), "--cluster-replicas", "3")
	sixth.Start(t)
	t.Cleanup(func() { sixth.Stop(t) })
	sixth.AwaitReady(t)
	testwait.UntilNil(t, "two groups have replicas on the sixth node, and all have three", func() error {
		if got := ask(t, nodes[0].Address, "RAFT GROUPS"); strings.Count(got, "node6") < 2 || strings.Count(got, ",node") != 2*groups {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	take(append(nodes, sixth))
	if got := ask(t, sixth.Address, "RAFT ADD node6 "+peers[5]+" NONVOTER"); got != "+OK" {
		t.Error(got)
	}
	testwait.UntilNil(t, "a nonvoter has no replicas", func() error {
		if got := ask(t, sixth.Address, "RAFT GROUPS"); strings.Contains(got, "node6") || strings.Count(got, ",node") != 2*groups {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	take(append(nodes, sixth))
}
