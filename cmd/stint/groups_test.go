//go:build e2e

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// Commands in a cluster whose keys are divided among groups, and their refusals.
func TestGroupsOfKeys(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartCluster(t, program, 3, "--groups", "4")
	for _, node := range nodes {
		eventually(t, node, "RL.POLICY LIST", `[]`)
		awaitGroups(t, node)
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
		{"RL.POLICY SET two TB {}:x 5 1/s TB y 5 1/s", "+OK"},
		{"RL.CHECK two a 1", crossing},
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
	sum := 0
	for _, node := range nodes {
		var n int
		if _, err := fmt.Sscan(ask(t, node, "DBSIZE"), &n); err != nil {
			t.Error(err)
		}
		sum += n
	}
	if sum != 9 {
		t.Errorf("the nodes lead groups with %d keys of 9", sum)
	}
	if got := ask(t, nodes[0], "RAFT ADD x 127.0.0.1:1 NONVOTER"); !strings.Contains(got, "cannot have nonvoters") {
		t.Error(got)
	}
}
