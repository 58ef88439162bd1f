//go:build e2e

package compat

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		service := testserver.FreeAddresses(t, 1)[0]
		address := testserver.Start(t, program, "--admin", "", "--grpc-listen", service, "--rls-config", rules)
		out, err := exec.Command(asker, address, service, rules, fmt.Sprint(seed), "1000").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "1000 requests") || strings.Contains(string(out), " 0 denied") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

var grpcAddress = regexp.MustCompile(`(\S+) \(gRPC\)`)

// TestEnvoyServiceOfCluster asks each node of a cluster. Two of them forward to the leader.
func TestEnvoyServiceOfCluster(t *testing.T) {
	neverCached(t)
	asker, rules := builtAsker(t)
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartNodes(t, program, 3, "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
	for i, node := range nodes {
		log, err := os.ReadFile(filepath.Join(node.Dir, "server.log"))
		if err != nil {
			t.Fatal(err)
		}
		address := grpcAddress.FindSubmatch(log)
		if address == nil {
			t.Fatalf("no address of gRPC in %s", log)
		}
		flush(t, node.Address)
		out, err := exec.Command(asker, node.Address, string(address[1]), rules, fmt.Sprint(i), "150").CombinedOutput()
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
