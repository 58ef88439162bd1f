//go:build e2e

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// makeBackup runs stint backup.
func makeBackup(t *testing.T, program, admin string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "copy.stint")
	if output, err := testserver.Command(t, program, "backup", "--admin", admin, file).CombinedOutput(); err != nil || !strings.Contains(string(output), "whole; ") {
		t.Fatalf("%v: %s", err, output)
	}
	return file
}

// sameEverywhere checks the answers of all nodes of a cluster.
func sameEverywhere(t *testing.T, nodes []string, want map[string]string) {
	t.Helper()
	for i, node := range nodes {
		for command, reply := range want {
			eventually(t, node, "RL.POLICY LIST", `["p"]`) // this node has the state
			if got := ask(t, node, command); !strings.HasPrefix(got, reply) {
				t.Errorf("node %d answers %s with %s, want %s…", i+1, command, got, reply)
			}
		}
	}
}

// The backup of a server alone becomes the state of a cluster, on every node. One of a node of that cluster, made while
// clients ask every node, starts another cluster, and a server alone, with at most the tokens that were left then.
func TestBackupStartsACluster(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	server := testserver.StartServer(t, program, "--admin", "127.0.0.1:0")
	alone, admin := server.Address, server.Admin(t)
	for _, command := range []string{"RL.POLICY SET p TB u:{} 5 1/h", "RL.CHECK p x 2", "FW.ACQUIRE w 9 1d 4", "SET text old EX 1000"} {
		if got := ask(t, alone, command); strings.HasPrefix(got, "-") {
			t.Fatal(command, got)
		}
	}
	want := map[string]string{"TB.ACQUIRE u:x 5 1/h 1 PEEK": "[1 5 2 0 ", "FW.ACQUIRE w 9 1d 1 PEEK": "[1 9 4 0 ", "GET text": `"old"`}
	first := testserver.StartNodes(t, program, 3, "--admin", "127.0.0.1:0", "--cluster-import", makeBackup(t, program, admin))
	var addresses []string
	for _, node := range first {
		addresses = append(addresses, node.Address)
	}
	sameEverywhere(t, addresses, want)

	const keys = 50
	take := func(node string, key int) int {
		return remaining(t, ask(t, node, fmt.Sprintf("TB.ACQUIRE k%d 800000 1/1h", key)))
	}
	var atMost, atLeast [keys]int
	for k := range keys {
		atMost[k] = take(addresses[k%3], k)
	}
	stop, begun := make(chan struct{}), sync.WaitGroup{}
	var busy sync.WaitGroup
	begun.Add(len(addresses))
	for _, node := range addresses {
		send := connect(t, node)
		busy.Go(func() {
			for n := 0; ; n++ {
				if n == 20*keys {
					begun.Done()
				}
				select {
				case <-stop:
					return
				default:
					send(fmt.Sprintf("TB.ACQUIRE k%d 800000 1/1h", n%keys))
				}
			}
		})
	}
	begun.Wait()
	file := makeBackup(t, program, first[1].Admin(t))
	close(stop)
	busy.Wait()
	for k := range keys {
		atLeast[k] = take(addresses[k%3], k)
	}
	second := testserver.StartCluster(t, program, 3, "--cluster-import", file)
	sameEverywhere(t, second, want)
	dir := filepath.Join(t.TempDir(), "new")
	if output, err := testserver.Command(t, program, "restore", file, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	single := testserver.Start(t, program, "--dir", dir, "--admin", "")
	sameEverywhere(t, []string{single}, want)
	for k := range keys {
		command := fmt.Sprintf("TB.ACQUIRE k%d 800000 1/1h 1 PEEK", k) // tells what would remain
		got := remaining(t, ask(t, single, command)) + 1
		if got > atMost[k] {
			t.Errorf("k%d has %d tokens, and had at most %d", k, got, atMost[k])
		}
		if got < atLeast[k]-100_000 { // what the nodes held
			t.Errorf("k%d has %d tokens, and had at least %d", k, got, atLeast[k])
		}
		for i, node := range second {
			if other := remaining(t, ask(t, node, command)) + 1; other != got {
				t.Errorf("k%d has %d tokens at node %d of the new cluster, and %d in the server alone", k, other, i+1, got)
			}
		}
	}
}

// A node with a damaged backup does not start, and names the file.
func TestClusterImportOfADamagedBackup(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	server := testserver.StartServer(t, program, "--admin", "127.0.0.1:0")
	ask(t, server.Address, "TB.ACQUIRE k 9 1/h")
	file := makeBackup(t, program, server.Admin(t))
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[140] ^= 1
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "--cluster-import: cannot read the backup: "+file+" at offset 128: damaged; name another one", program, "--dir", t.TempDir(), "--node-id", "a",
		"--cluster-listen", "127.0.0.1:7999", "--cluster-peers", "127.0.0.1:7999", "--cluster-import", file)
}

// A node that is left alone makes a backup only if it may be stale, and that starts another cluster.
func TestBackupWithoutAMajority(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartNodes(t, program, 3, "--admin", "127.0.0.1:0")
	for _, command := range []string{"RL.POLICY SET p TB u:{} 5 1/h", "FW.ACQUIRE w 9 1d 4"} {
		if got := ask(t, nodes[0].Address, command); strings.HasPrefix(got, "-") {
			t.Fatal(command, got)
		}
	}
	eventually(t, nodes[2].Address, "WAIT 2 0", "2") // the last node has it
	for _, node := range nodes[:2] {
		if err := node.End(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	admin, file := nodes[2].Admin(t), filepath.Join(t.TempDir(), "copy.stint")
	var output []byte
	testwait.Until(t, "no backup is made", func() bool { // a leader's state is current until its lease ends
		var err error
		output, err = testserver.Command(t, program, "backup", "--admin", admin, file).CombinedOutput()
		return err != nil
	})
	if !strings.Contains(string(output), "this node does not know whether its state is current") || !strings.Contains(string(output), "--stale") {
		t.Errorf("%s", output)
	}
	if output, err := testserver.Command(t, program, "backup", "--stale", "--admin", admin, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, node := range nodes[:2] {
		node.Start(t)
	}
	sameEverywhere(t, testserver.StartCluster(t, program, 3, "--cluster-import", file), map[string]string{"FW.ACQUIRE w 9 1d 1 PEEK": "[1 9 4 0 "})
}
