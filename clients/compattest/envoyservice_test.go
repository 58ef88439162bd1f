//go:build e2e

package compattest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// builtAsker is the program that asks, and the directory of its rules.
func builtAsker(t *testing.T) (asker, rules string) {
	t.Helper()
	rules, err := filepath.Abs("testdata/envoy")
	if err != nil {
		t.Fatal(err)
	}
	asker = filepath.Join(t.TempDir(), "envoyservice")
	inFolder(t, "limiters/go", "go", "build", "-o", asker, "./envoyservice")
	return asker, rules
}

// TestEnvoyService asks envoyproxy/ratelimit and Stint the same random questions, with the same rules.
func TestEnvoyService(t *testing.T) {
	neverCached(t)
	asker, rules := builtAsker(t)
	program := testserver.Build(t, filepath.Join("..", ".."))
	for seed := range 3 {
		server := testserver.StartServer(t, program, "--admin", "", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
		out, err := testserver.Command(t, asker, server.Address, server.Listening(t, "gRPC"), rules, fmt.Sprint(seed), "1000").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "1000 requests") || strings.Contains(string(out), " 0 denied") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestEnvoyServiceOfCluster asks each node of a cluster. Two of them forward to the leader.
func TestEnvoyServiceOfCluster(t *testing.T) {
	neverCached(t)
	asker, rules := builtAsker(t)
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartNodes(t, program, 3, "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
	for i, node := range nodes {
		flush(t, node.Address)
		out, err := testserver.Command(t, asker, node.Address, node.Listening(t, "gRPC"), rules, fmt.Sprint(i), "150").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "150 requests") {
			t.Errorf("node %d: %v\n%s", i, err, out)
		}
	}
}

// flush deletes all keys, so that both services begin at zero.
func flush(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("FLUSHALL\r\n")); err != nil {
		t.Fatal(err)
	}
	if reply, err := bufio.NewReader(conn).ReadString('\n'); reply != "+OK\r\n" {
		t.Fatal(reply, err)
	}
}

// TestEnvoyServiceVariables compares the variables that envoyproxy/ratelimit reads with those of which a test of cmd/stint knows that they are not ignored.
func TestEnvoyServiceVariables(t *testing.T) {
	neverCached(t)
	program := filepath.Join(t.TempDir(), "envoysettings")
	inFolder(t, "limiters/go", "go", "build", "-o", program, "./envoysettings")
	names, err := testserver.Command(t, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile("../../cmd/stint/settings/testdata/ratelimit-variables.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(names))
	for _, name := range all {
		if !strings.Contains("\n"+string(known), "\n"+name+"=") {
			t.Errorf("%s is not known", name)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d variables were found", len(all))
	}
}
