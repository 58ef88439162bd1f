//go:build e2e

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// A backup of one group starts four, and one of these three, and a server alone: keys, policies, overrides, scripts and
// reservations are those of before, no limit grants more than was left, and tokens lent between groups count as used.
func TestBackupChangesTheNumberOfGroups(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	const keys = 40
	one := testserver.StartNodes(t, program, 1, "--admin", "127.0.0.1:0")
	do := func(node *testserver.Process, command, want string) {
		t.Helper()
		if got := ask(t, node.Address, command); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s…", command, got, want)
		}
	}
	for k := range keys {
		do(one[0], fmt.Sprintf("TB.ACQUIRE k%d 9 1/365d", k), "[1 9 8 ")
	}
	loaded := ask(t, one[0].Address, `SCRIPT LOAD "return redis.call('get',KEYS[1])"`)
	for _, step := range [][2]string{
		{"RL.POLICY SET p TB u:{} 5 1/365d", "+OK"}, {"RL.POLICY OVERRIDE p gold TB u:{} 50 1/365d", "+OK"}, {"RL.CHECK p x 2", "[2 -1 0 [[5 3 "}, {"RL.CHECK p gold 2", "[2 -1 0 [[50 48 "},
		{"SET text old EX 1000", "+OK"},
		{"TB.ACQUIRE {a}limit 9 1/365d 4 AS {a}id FOR 1h", "[4 9 5 "}, {"TB.ACQUIRE apart 9 1/365d 4 AS id FOR 1h", "[4 9 5 "},
	} {
		do(one[0], step[0], step[1])
	}
	four := startImporting(t, program, makeBackup(t, program, one[0].Admin(t)), 3, "--groups", "4", "--cluster-shared", "global:*")
	for k := range keys {
		do(four[k%3], fmt.Sprintf("TB.ACQUIRE k%d 9 1/365d", k), "[1 9 7 ")
		do(four[k%3], fmt.Sprintf("RL.ALL TB k%d 9 1/365d TB global:x 1000 1/1d", k), "[1 ")
	}
	same := func(nodes []*testserver.Process) {
		t.Helper()
		for i, step := range [][2]string{
			{"RL.CHECK p x 1 PEEK", "[1 -1 0 [[5 2 "}, {"RL.CHECK p gold 1 PEEK", "[1 -1 0 [[50 47 "}, {"GET text", `"old"`},
			{"EVALSHA " + strings.Trim(loaded, `"`) + " 1 text", `"old"`}, {"TB.ACQUIRE apart 9 1/365d 1 PEEK", "[1 9 4 "},
		} {
			do(nodes[i%len(nodes)], step[0], step[1])
		}
	}
	same(four)
	do(four[0], "RL.SETTLE id 1", "nil")
	file := makeBackup(t, program, four[1].Admin(t))
	do(four[0], "RL.SETTLE {a}id 1", "[") // after the backup, which has it open
	three := startImporting(t, program, file, 1, "--groups", "3", "--cluster-shared", "global:*")
	same(three)
	do(three[0], "RL.SETTLE {a}id 1", "[")
	do(three[0], "TB.ACQUIRE {a}limit 9 1/365d 1 PEEK", "[1 9 7 ")
	dir := filepath.Join(t.TempDir(), "new")
	if output, err := testserver.Command(t, program, "restore", file, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	alone := testserver.StartServer(t, program, "--dir", dir, "--admin", "")
	same([]*testserver.Process{alone})
	for _, node := range []*testserver.Process{three[0], alone} {
		for k := range keys {
			do(node, fmt.Sprintf("TB.ACQUIRE k%d 9 1/365d 1 PEEK", k), "[1 9 5 ")
		}
		if left := remaining(t, ask(t, node.Address, "TB.ACQUIRE global:x 1000 1/1d 1 PEEK")) + 1; left > 1000-keys || left < 1000-20*keys {
			t.Errorf("of 1000 tokens, of which %d were taken, %d are left", keys, left)
		}
		do(node, "RL.LENT global:x", "[]")
	}
	do(alone, "DBSIZE", fmt.Sprint(keys+7))
}

// startImporting starts the nodes of a cluster whose first begins with a backup, and waits until all have it.
func startImporting(t *testing.T, program, file string, nodes int, options ...string) []*testserver.Process {
	t.Helper()
	all := testserver.StartNodes(t, program, nodes, append([]string{"--admin", "127.0.0.1:0", "--cluster-import", file}, options...)...)
	for _, node := range all {
		testwait.Until(t, "the state is imported", func() bool { return ask(t, node.Address, "RL.POLICY LIST") == `["p"]` })
		awaitGroups(t, node.Address)
	}
	return all
}
