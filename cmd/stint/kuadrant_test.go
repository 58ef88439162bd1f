//go:build e2e

package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stintdb/stint/internal/testkuadrant"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// kuadrantRules are a fixed window as envoyproxy/ratelimit has it, a bucket and a policy.
const kuadrantRules = `domain: llm
descriptors:
  - key: model
    rate_limit: {unit: year, requests_per_unit: 1000}
  - key: team
    rate_limit: {unit: year, requests_per_unit: 1000, algorithm: token-bucket}
  - key: user
    rate_limit: {policy: plans}
`

// A reservation of one node is committed by another one after the leader was killed; a commit that comes again there
// changes nothing.
func TestKuadrantFailover(t *testing.T) {
	rules := t.TempDir()
	if err := os.WriteFile(filepath.Join(rules, "llm.yaml"), []byte(kuadrantRules), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := testserver.StartNodes(t, testserver.Build(t, filepath.Join("..", "..")), 3, "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
	var leader *testserver.Process
	var clients []testkuadrant.Client // of the others
	testwait.Until(t, "a node leads", func() bool {
		for _, n := range nodes {
			if n.Leads() {
				leader = n
			}
		}
		return leader != nil
	})
	eventually(t, leader.Address, "RL.POLICY SET plans TB plan:{} 1000 1/d", "+OK")
	for _, n := range nodes {
		if n == leader {
			continue
		}
		conn, err := grpc.NewClient(n.Listening(t, "gRPC"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		clients = append(clients, testkuadrant.Client{ClientConn: conn})
	}
	in := &ratelimit.RateLimitRequest{Domain: "llm"}
	for key, value := range map[string]string{"model": "m", "team": "t", "user": "u"} {
		in.Descriptors = append(in.Descriptors, &extension.RateLimitDescriptor{Entries: []*extension.RateLimitDescriptor_Entry{{Key: key, Value: value}}})
	}
	ctx, cancel := context.WithDeadline(context.Background(), testwait.Deadline())
	defer cancel()
	code, id, err := clients[0].Reserve(ctx, in, 800, time.Hour)
	if err != nil || code != ratelimit.RateLimitResponse_OK {
		t.Fatal(code, err)
	}
	expect := func(of string, want ratelimit.RateLimitResponse_Code, remaining uint32) {
		t.Helper()
		out, err := clients[1].Check(ctx, in)
		if err != nil || out.OverallCode != want {
			t.Fatal(of, out, err)
		}
		for _, s := range out.Statuses {
			if s.LimitRemaining != remaining {
				t.Errorf("%s: %v, want %d", of, s, remaining)
			}
		}
	}
	expect("reserved", ratelimit.RateLimitResponse_OK, 199)
	if err := leader.End(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	commit := func(amount uint64) (released bool) {
		testwait.UntilNil(t, "the commit is booked", func() (err error) {
			released, err = clients[1].Commit(ctx, in, id, amount)
			return err
		})
		return released
	}
	for range 2 {
		if !commit(100) {
			t.Error("the reservation is not known after the failover")
		}
	}
	expect("committed", ratelimit.RateLimitResponse_OK, 899)
	if commit(50) {
		t.Error("it is settled twice")
	}
	expect("committed again with another amount", ratelimit.RateLimitResponse_OK, 849)
	leader.Start(t)
	leader.AwaitFormed(t)
}
