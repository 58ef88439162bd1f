//go:build e2e

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/transcripttest"
)

// ask sends one command to a server and returns the reply in the notation of transcripts.
func ask(t *testing.T, address, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(testwait.Deadline())
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		t.Fatal(err)
	}
	reply, err := transcripttest.ReadReply(bufio.NewReader(conn))
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return reply
}

// askLine is ask, with a long reply in one line, too.
func askLine(t *testing.T, address, command string) string {
	t.Helper()
	return strings.Join(strings.Fields(ask(t, address, command)), " ")
}

// eventually repeats a command until a server gives the expected answer.
func eventually(t *testing.T, address, command, want string) {
	t.Helper()
	testwait.UntilNil(t, fmt.Sprintf("%s answers %s with %s", address, command, want), func() error {
		if got := ask(t, address, command); got != want {
			return errors.New(got)
		}
		return nil
	})
}

// The state of a single server becomes the state of a cluster, once, and a node refuses to use the directory itself.
func TestClusterImport(t *testing.T) {
	program, old := testserver.Build(t, filepath.Join("..", "..")), filepath.Join(t.TempDir(), "old")
	t.Run("alone", func(t *testing.T) {
		alone := testserver.Start(t, program, "--dir", old, "--admin", "")
		for _, want := range []string{"[1 5 4 0 ", "[1 5 3 0 "} {
			if got := ask(t, alone, "TB.ACQUIRE k 5 1/d"); !strings.HasPrefix(got, want) {
				t.Fatal(got)
			}
		}
		for _, command := range []string{"RL.POLICY SET p TB u:{} 5 1/s", "SET n 7", "SET empty ''", "SET text old EX 1000"} {
			if got := ask(t, alone, command); got != "+OK" {
				t.Fatal(got)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		wantRefusal(t, "holds the state of a standalone server", program, "--dir", old, "--node-id", "a",
			"--cluster-listen", "127.0.0.1:7999", "--cluster-peers", "127.0.0.1:7999")
		wantRefusal(t, "does not contain the state of a server", program, "--dir", t.TempDir(), "--node-id", "a",
			"--cluster-listen", "127.0.0.1:7999", "--cluster-peers", "127.0.0.1:7999", "--cluster-import", t.TempDir())
	})
	t.Run("a node's directory", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte(`{"node":"a","incarnation":"x"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, "is the directory of a cluster's node", program, "--dir", dir)
		wantRefusal(t, "is the directory of a node", program, "--dir", t.TempDir(), "--node-id", "a",
			"--cluster-listen", "127.0.0.1:7999", "--cluster-peers", "127.0.0.1:7999", "--cluster-import", dir)
	})
	nodes := testserver.StartCluster(t, program, 3, "--cluster-import", old)
	for i, node := range nodes {
		eventually(t, node, "RL.POLICY LIST", `["p"]`)
		if got, want := ask(t, node, "TB.ACQUIRE k 5 1/d"), []string{"[1 5 2 0 ", "[1 5 1 0 ", "[1 5 0 0 "}[i]; !strings.HasPrefix(got, want) {
			t.Errorf("node %d answers %s, want %s…", i+1, got, want)
		}
		if got, want := ask(t, node, "INCR n"), fmt.Sprint(8+i); got != want {
			t.Errorf("node %d counts %s, want %s", i+1, got, want)
		}
		if got := ask(t, node, "MGET text empty none"); got != `["old" "" nil]` {
			t.Errorf("node %d holds %s", i+1, got)
		}
	}
	if got := ask(t, nodes[0], "TB.ACQUIRE k 5 1/d"); !strings.HasPrefix(got, "[0 5 0 ") {
		t.Errorf("a sixth token of five: %s", got)
	}
	if got := ask(t, nodes[1], "RAFT SNAPSHOT"); got != "+OK" {
		t.Error(got)
	}
}
