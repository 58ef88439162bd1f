//go:build e2e

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// Commands in a cluster whose keys are divided among groups, and their refusals.
func TestGroupsOfKeys(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	var nodes []string
	for i, node := range testserver.StartNodes(t, program, 3, "--groups", "4", "--admin", "127.0.0.1:0") {
		eventually(t, node.Address, "RL.POLICY LIST", `[]`)
		awaitGroups(t, node.Address)
		nodes = append(nodes, node.Address)
		groupsAreShown(t, program, node, fmt.Sprint("node", i+1))
	}
	const crossing = "-CROSSSLOT Keys in request don't hash to the same slot; give keys that belong together one hash tag, as in {user1}:a and {user1}:b: nothing was taken"
	const elsewhere = "-ERR Script attempted to access a non local key in a cluster node"
	for i, step := range []struct{ command, want string }{
		{"SET a 1", "+OK"}, {"SET b 2", "+OK"}, {"SET c 3", "+OK"}, // groups 4, 1 and 2
		{"MGET a b none c", `["1" "2" nil "3"]`},
		{"EXISTS a b none a", "3"},
		{"MSET a 1 b 2", crossing},
		{"MSET {u}a 1 {u}b 2", "+OK"},
		{"RENAME a b", crossing},
		{"RL.ALL TB a 5 1/s TB b 5 1/s", crossing},
		{"RL.POLICY SET tagged TB '{{}}:x' 5 1/s", "+OK"},
		{"SCRIPT LOAD 'return redis.call(\"get\",KEYS[1])'", `"f2180f334e61b6cd9beecd7eb4721473daaa9f4e"`},
		{"EVALSHA f2180f334e61b6cd9beecd7eb4721473daaa9f4e 1 a", `"1"`},
		{"EVALSHA f2180f334e61b6cd9beecd7eb4721473daaa9f4e 1 b", `"2"`},
		{"EVALSHA f2180f334e61b6cd9beecd7eb4721473daaa9f4e 1 c", `"3"`},
		{"EVAL 'return redis.call(\"get\",\"b\")' 1 a", elsewhere},
		{"EVAL 'return redis.call(\"dbsize\")' 1 a", elsewhere},
		{"EVAL 'return redis.call(\"get\",\"a\")' 0", elsewhere},
		{"EVAL 'return 7' 0", "7"},
		{"DEL a b none", "2"},
		{"FLUSHALL", "+OK"},
		{"EXISTS a b c {u}a", "0"},
	} {
		if got := ask(t, nodes[i%3], step.command); got != step.want && !(strings.HasPrefix(step.want, elsewhere) && strings.HasPrefix(got, elsewhere)) {
			t.Errorf("%s: %s, want %s", step.command, got, step.want)
		}
	}
	// A policy set by one node is known to the next at once.
	for i := range 9 {
		name := fmt.Sprint("p", i)
		if got := ask(t, nodes[i%3], "RL.POLICY SET "+name+" TB key"+fmt.Sprint(i)+":{} 5 1/d"); got != "+OK" {
			t.Error(got)
		}
		if got := ask(t, nodes[(i+1)%3], "RL.CHECK "+name+" caller"); !strings.HasPrefix(got, "[1 ") {
			t.Errorf("policy %s: %s", name, got)
		}
	}
	testwait.UntilNil(t, "each key is counted by the leader of its group", func() error { // leaders may move
		sum := 0
		for _, node := range nodes {
			var n int
			if _, err := fmt.Sscan(ask(t, node, "DBSIZE"), &n); err != nil {
				return err
			}
			sum += n
		}
		if sum != 9 {
			return fmt.Errorf("the nodes lead groups with %d keys of 9", sum)
		}
		return nil
	})
}

// groupsAreShown compares what the metrics and stint top of a node say about its groups with RAFT GROUPS.
func groupsAreShown(t *testing.T, program string, node *testserver.Process, own string) {
	t.Helper()
	testwait.UntilNil(t, "metrics and stint top say who leads", func() error { // leaders may move
		raft, metrics := askLine(t, node.Address, "RAFT GROUPS"), testserver.GetText(t, "http://"+node.Admin(t)+"/metrics")
		top, err := testserver.Command(t, program, "top", "--once", "--admin", node.Admin(t)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, top)
		}
		leaders := regexp.MustCompile(`"leader_id" "(node[123])"`).FindAllStringSubmatch(raft, -1)
		for i, leader := range leaders {
			leads := 0
			if leader[1] == own {
				leads = 1
			}
			if line := fmt.Sprintf("stint_group_leader{group=\"%d\"} %d\n", i+1, leads); !strings.Contains(metrics, line) {
				return fmt.Errorf("no %q, and %s leads", line, leader[1])
			}
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^%d +%s .*( node[123]){3} *$`, i+1, leader[1])).Match(top) {
				return fmt.Errorf("group %d is led by %s, and stint top says %s", i+1, leader[1], top)
			}
		}
		if len(leaders) != 4 {
			return fmt.Errorf("%s", raft)
		}
		return nil
	})
}
