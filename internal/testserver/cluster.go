package testserver

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

const formTimeout = 30 * time.Second

// StartCluster starts the nodes of a cluster, with no settings but those they need and the options, and returns their
// addresses once they have formed it. The test's end stops them.
func StartCluster(t testing.TB, program string, nodes int, options ...string) (addresses []string) {
	t.Helper()
	peers := freeAddresses(t, nodes)
	for i, own := range peers {
		addresses = append(addresses, Start(t, program, append([]string{
			"--node-id", fmt.Sprint("node", i+1), "--cluster-listen", own, "--cluster-peers", strings.Join(peers, ","), "--dir", "state",
			"--admin", "", "--cluster-heartbeat", "1s", // so that a busy machine causes no elections
		}, options...)...))
	}
	for _, address := range addresses {
		for deadline := time.Now().Add(formTimeout); !isFormed(t, address); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is in no cluster after %v", address, formTimeout)
			}
		}
	}
	return addresses
}

// isFormed reports whether a node leads or has caught up with a leader.
func isFormed(t testing.TB, address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(formTimeout))
	if _, err := conn.Write([]byte("CLUSTER INFO\r\nQUIT\r\n")); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "cluster_state:ok" {
			return true
		}
	}
	return false
}

// freeAddresses are different loopback addresses with free ports.
func freeAddresses(t testing.TB, count int) (addresses []string) {
	t.Helper()
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses
}
