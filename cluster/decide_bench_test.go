package cluster

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testnet"
)

// benchNodes starts nodes in memory and returns the leader first.
func benchNodes(b *testing.B, ahead time.Duration, allowance bool, names ...string) (nodes []*Node) {
	net := testnet.New()
	s := &simulated{names: names, net: net}
	for _, name := range names {
		n, err := Open(Options{
			Node: name, Listen: name, Advertise: name, Peers: names, BootstrapExpect: len(names), Network: s.networkOf(name),
			Store: store.New(store.Config{Replicated: true}), Disk: newMemDisk(0), Log: slog.New(slog.DiscardHandler),
			Ahead: ahead, Allowance: func() bool { return allowance },
			Heartbeat: time.Second, DecideTimeout: 5 * time.Second, DiskTimeout: 5 * time.Second, LogBytes: 64 << 20,
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = n.Close() })
		nodes = append(nodes, n)
	}
	for {
		time.Sleep(10 * time.Millisecond)
		for i, n := range nodes {
			if n.Group().OwnStatus().Leased {
				nodes[0], nodes[i] = nodes[i], nodes[0]
				return nodes
			}
		}
	}
}

// BenchmarkDecide measures each way of deciding, for one client, with single requests and with pipelines. An operation
// is one batch.
func BenchmarkDecide(b *testing.B) {
	limit := func(capacity, tokens int64, period time.Duration) limits.Limit {
		rate := limits.Rate{Tokens: tokens, Period: int64(period)}
		return limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: rate}
	}
	plenty := limit(limits.MaxTokens, 1_000_000_000, time.Second)
	few := limit(1, 1, time.Hour)
	cold := limit(100_000, 100_000_000, time.Second)
	for _, c := range []struct {
		name      string
		ahead     time.Duration
		allowance bool
		nodes     int
		at        int
		limit     limits.Limit
	}{
		{"leader/purse", time.Second, false, 1, 0, plenty},
		{"leader/allowance", 0, true, 1, 0, cold},
		{"leader/allowance and purses", time.Second, true, 1, 0, cold},
		{"leader/denied", 0, false, 1, 0, few},
		{"leader/log", 0, false, 1, 0, plenty},
		{"follower/purse", time.Second, false, 3, 1, plenty},
		{"follower/forwarded", 0, false, 3, 1, plenty},
		{"follower/forwarded and denied", 0, false, 3, 1, few},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := benchNodes(b, c.ahead, c.allowance, []string{"a", "b", "c"}[:c.nodes]...)[c.at]
			for _, size := range []int{1, 16} {
				b.Run(fmt.Sprint(size), func(b *testing.B) { benchBatches(b, n, c.limit, size, c.limit == plenty && c.ahead > 0) })
			}
		})
	}
}

func benchBatches(b *testing.B, n *Node, limit limits.Limit, size int, inMemory bool) {
	done := make(chan struct{}, 1)
	batch := &engine.Batch{Ops: make([]engine.Op, size), Results: make([]engine.Result, size)}
	batch.Done = func() { done <- struct{}{} }
	for i := range batch.Ops {
		batch.Ops[i] = engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "key:", i), Tokens: 1, Limit: limit}
	}
	decide := func() {
		if !n.Decide(batch) {
			<-done
		}
	}
	for range 2000 {
		decide()
	}
	for inMemory && n.Group().Status().LocalDecisions < 2000 { // a node holds no tokens before the log knows its process
		decide()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		decide()
	}
}
