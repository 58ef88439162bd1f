//go:build e2e

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// awaitGroups waits until a node knows a leader of every group, and takes no killed node for one: a request sent to a
// killed node can be answered with UNCERTAIN.
func awaitGroups(t *testing.T, node string, killed ...string) {
	t.Helper()
	testwait.Until(t, "all groups have leaders", func() bool {
		for _, name := range killed {
			if strings.Contains(askLine(t, node, "RAFT GROUPS"), fmt.Sprintf(`"leader_id" "%s"`, name)) {
				return false
			}
		}
		return strings.Contains(ask(t, node, "CLUSTER INFO"), "cluster_slots_ok:16384")
	})
}

// Users of all groups share a limit: it is granted to the last token, at any node, before and after a node is killed.
func TestSharedLimitOfGroups(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartNodes(t, program, 3, "--groups", "4", "--cluster-shared", "global:*,tenant:*")
	for _, node := range nodes {
		awaitGroups(t, node.Address)
	}
	granted, asked := 0, 0
	take := func(count int, of []*testserver.Process) {
		for range count {
			asked++
			got := ask(t, of[asked%len(of)].Address, fmt.Sprintf("RL.ALL TB user:%d 5 1/s TB global:x 60 1/d TB tenant:a 50 1/d", asked))
			switch {
			case strings.HasPrefix(got, "[1 "):
				granted++
			case !strings.HasPrefix(got, "[0 "):
				t.Fatal(got)
			}
		}
	}
	take(20, nodes)
	if granted != 20 {
		t.Errorf("%d granted of 20", granted)
	}
	for i, node := range nodes {
		if !node.Leads() {
			if err := node.End(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			others := []*testserver.Process{}
			for _, other := range nodes {
				if other != node {
					awaitGroups(t, other.Address, fmt.Sprint("node", i+1))
					others = append(others, other)
				}
			}
			take(20, others)
			node.Start(t)
			node.AwaitFormed(t)
			awaitGroups(t, node.Address)
			break
		}
	}
	if granted != 40 {
		t.Errorf("%d granted of 40", granted)
	}
	take(20, nodes)
	if granted != 50 {
		t.Errorf("%d granted of the tenant's 50", granted)
	}
	for _, step := range []struct{ command, want string }{
		{"RL.POLICY SET p TB user:{} 5 1/s TB global:p 2 1/d", "+OK"},
		{"RL.CHECK p 1", "[1 "}, {"RL.CHECK p 2", "[1 "}, {"RL.CHECK p 3", "[0 "},
		{"RL.ALL TB {x}a 5 1/s SW global:s 5 1m TB {y}b 5 1/s", "-CROSSSLOT Keys"},
		{"RL.ALL TB {x}a 5 1/s TB {y}b 5 1/s", "-CROSSSLOT Keys"},
	} {
		if got := ask(t, nodes[0].Address, step.command); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s, want %s", step.command, got, step.want)
		}
	}
	refused := 0
	for i := range 16 {
		if got := ask(t, nodes[0].Address, fmt.Sprintf("RL.ALL TB user:%d 5 1/s SW global:s 50 1m", i)); strings.HasPrefix(got, "-CROSSSLOT a shared limit must be TB, CL, LB or FW") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("a shared sliding window is not refused")
	}
	testwait.Until(t, "unused tokens go back", func() bool {
		return ask(t, nodes[0].Address, "RL.LENT global:x") == "[]" && ask(t, nodes[0].Address, "RL.LENT tenant:a") == "[]"
	})
}
