//go:build e2e && linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/timerslack"
)

// mostTimerSlack is the largest of a process's threads, which only root may read.
func mostTimerSlack(t *testing.T, p *testserver.Process) (most time.Duration) {
	t.Helper()
	if os.Geteuid() != 0 {
		return timerslack.Long
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns")
		if err != nil {
			continue // it has ended
		}
		slack, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, time.Duration(slack))
	}
	return most
}

// TestNodesKeepMonitorAwake looks at the environment of processes: a node has started its program again, and a server
// alone, or a node whose environment says otherwise, has not.
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
	if slack := mostTimerSlack(t, node); slack != timerslack.Long && runtime.NumCPU() > 1 {
		t.Errorf("no thread of a node has %v of timer slack, but at most %v", timerslack.Long, slack)
	}
	alone := testserver.StartServer(t, program)
	if hasSchedTrace(alone) {
		t.Error("a server alone has started its program again")
	}
	if slack := mostTimerSlack(t, alone); slack >= timerslack.Long && os.Geteuid() == 0 {
		t.Errorf("a thread of a server alone has %v of timer slack", slack)
	}
	t.Setenv("GODEBUG", "schedtrace=0")
	if hasSchedTrace(testserver.StartNodes(t, program, 1)[0]) {
		t.Error("a node does not keep the value that it is given")
	}
}
