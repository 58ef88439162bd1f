package stint_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// TestGroups: a client for Redis Cluster finds the leaders of a cluster with several groups, sends them the keys of
// their slots, and goes on when a node dies. No increment is lost or made twice that was answered.
func TestGroups(t *testing.T) {
	t.Parallel() // waits until the groups have leaders on all nodes
	cluster, err := servertest.StartCluster("--redirect", "moved", "--groups", "4")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Kill)
	at := cluster.Addresses()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: at})
	defer client.Close()
	ctx := t.Context()
	waitFor(t, "every slot is served by a node, and not all by one", func() bool {
		client.ReloadState(ctx)
		slots, err := client.ClusterSlots(ctx).Result() //nolint:staticcheck // it is what clients ask
		served, nodes := 0, map[string]bool{}
		for _, s := range slots {
			served += s.End - s.Start + 1
			nodes[s.Nodes[0].Addr] = true
		}
		return err == nil && served == 16384 && len(nodes) == 3
	})
	const keys = 200
	count := func() (failed int) {
		for i := range keys {
			if err := client.Incr(ctx, fmt.Sprint("counter:", i)).Err(); err != nil {
				failed++
			}
		}
		return failed
	}
	if failed := count(); failed > 0 {
		t.Errorf("%d of %d increments failed", failed, keys)
	}
	var all atomic.Int64
	err = client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		n, err := node.DBSize(ctx).Result()
		if all.Add(n); n == 0 || n == keys {
			t.Errorf("%s has %d of %d keys", node.Options().Addr, n, keys)
		}
		return err
	})
	if err != nil || all.Load() != keys {
		t.Errorf("all masters have %d of %d keys (%v)", all.Load(), keys, err)
	}
	waitsInLine(t, client)
	cluster.Node(at[0]).Kill()
	waitFor(t, "the other two answer for all keys", func() bool {
		client.ReloadState(ctx)
		for i := range keys {
			if err := client.Get(ctx, fmt.Sprint("counter:", i)).Err(); err != nil {
				return false
			}
		}
		return true
	})
	if failed := count(); failed > 0 {
		t.Errorf("%d of %d increments failed on two nodes", failed, keys)
	}
	for i := range keys {
		if n, err := client.Get(ctx, fmt.Sprint("counter:", i)).Int(); err != nil || n != 2 {
			t.Errorf("counter %d is %d (%v)", i, n, err)
		}
	}
}
