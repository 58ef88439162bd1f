//go:build e2e && linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// TestNodesKeepMonitorAwake looks at the environment of processes: a node has started its program again, and a server alone, or a node whose
// environment says otherwise, has not.
func TestNodesKeepMonitorAwake(t *testing.T) {
	program := testserver.Build(t, "../..")
	hasSchedTrace := func(p *testserver.Process) bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Pid()))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(environ), schedTrace)
	}
	node := testserver.StartNodes(t, program, 1)[0]
	if !hasSchedTrace(node) {
		t.Error("a node has not started its program again")
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", node.Pid()))
	if err != nil || string(name) != "stint\n" {
		t.Errorf("its process is called %q (%v)", name, err)
	}
	if hasSchedTrace(testserver.StartServer(t, program)) {
		t.Error("a server alone has started its program again")
	}
	t.Setenv("GODEBUG", "schedtrace=0")
	if hasSchedTrace(testserver.StartNodes(t, program, 1)[0]) {
		t.Error("a node does not keep the value that it is given")
	}
}
