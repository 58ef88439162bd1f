package cluster

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testserver"
)

// BenchmarkThreeNodes measures three nodes in this process, over TCP and on disk, which decide batches as 50
// connections with pipelines of 16 would bring them. An operation is one decision on the leader.
func BenchmarkThreeNodes(b *testing.B) {
	addresses := testserver.ReserveAddresses(b, 3)
	var nodes []*Node
	for i, address := range addresses {
		disk, err := raftstore.Open(b.TempDir(), raftstore.OwnLog, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			b.Fatal(err)
		}
		n, err := Open(Options{
			Node: fmt.Sprint("n", i), Listen: address, Advertise: address, Peers: addresses, BootstrapExpect: 3,
			Store: store.New(store.Config{Replicated: true}), Disk: disk, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Heartbeat: time.Second, DecideTimeout: 5 * time.Second, DiskTimeout: 5 * time.Second, LogBytes: 64 << 20,
		})
		if err != nil {
			b.Fatal(err)
		}
		defer n.Close()
		nodes = append(nodes, n)
	}
	var leader *Node
	for leader == nil {
		time.Sleep(10 * time.Millisecond)
		for _, n := range nodes {
			if leads, _ := n.Group().Leads(); leads {
				leader = n
			}
		}
	}
	const connections, pipeline = 50, 16
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var clients sync.WaitGroup
	for i := range connections {
		clients.Go(func() { benchClient(leader, &left, pipeline, uint64(i)) })
	}
	clients.Wait()
	b.StopTimer()
	if decided := leader.Group().Status().Decisions; decided < int64(b.N) {
		b.Errorf("%d of %d were decided", decided, b.N)
	}
	b.ReportMetric(float64(leader.Group().Status().Decisions)/float64(max(1,
		leader.Group().Parts().Machine.Entries.Load())), "decisions/entry")
}

func benchClient(n *Node, left *atomic.Int64, pipeline int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	done := make(chan struct{}, 1)
	batch := &engine.Batch{Ops: make([]engine.Op, pipeline), Results: make([]engine.Result, pipeline), Done: func() {
		done <- struct{}{}
	}}
	for left.Add(int64(-pipeline)) > -int64(pipeline) {
		for i := range batch.Ops {
			batch.Ops[i] = acquire(fmt.Sprintf("key:%012d", r.IntN(100_000)), 1_000_000, 1)
			batch.Ops[i].Limit.Rate.Period = int64(time.Second)
		}
		if !n.Group().Decide(batch) {
			<-done
		}
	}
}
