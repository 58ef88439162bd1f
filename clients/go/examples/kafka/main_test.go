package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

// TestConsume: two consumers of a group read a topic of four partitions from a broker that speaks Kafka's protocol. All
// records are handed on once and in order, each with a separate place in the queue at Stint; after a restart, the group
// continues at its last commit.
func TestConsume(t *testing.T) {
	const topic, partitions, records = "orders", 4, 80
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	produce(t, cluster, topic, 0, records)

	var mu sync.Mutex
	var places int
	limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second), stint.WithHooks(stint.Hooks{
		Decision: func(_ context.Context, d stint.Decision) {
			mu.Lock()
			defer mu.Unlock()
			if d.Operation == "Reserve" && d.Allowed && d.Source == stint.Server {
				places++
			}
		},
	}))
	defer limiter.Close()
	got := map[string]int{}
	last := map[int32]int64{}
	play := func(until int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var group sync.WaitGroup
		for range 2 {
			client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup("billing"),
				kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			if err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				defer client.CloseAllowingRebalance()
				err := consume(ctx, client, limiter, "downstream", stint.PerSecond(200).Queue(1000), func(r *kgo.Record) error {
					mu.Lock()
					defer mu.Unlock()
					got[string(r.Value)]++
					if before, ok := last[r.Partition]; ok && r.Offset != before+1 {
						t.Errorf("partition %d: offset %d after %d", r.Partition, r.Offset, before)
					}
					last[r.Partition] = r.Offset
					if len(got) == until {
						cancel()
					}
					return nil
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("consume: %v", err)
				}
			})
		}
		group.Wait()
	}
	play(records)
	produce(t, cluster, topic, records, records/2)
	play(records + records/2)

	for n := range records + records/2 {
		if count := got[fmt.Sprint("order ", n)]; count != 1 {
			t.Errorf("order %d was handed on %d times", n, count)
		}
	}
	if places < records+records/2 {
		t.Errorf("%d places in the queue for %d records", places, records+records/2)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Address})
	defer rdb.Close()
	if kind, err := rdb.Type(t.Context(), "downstream").Result(); err != nil || (kind != "leaky-queue" && kind != "none") {
		t.Errorf("the key is a %s, %v", kind, err)
	}
}

func produce(t *testing.T, cluster *kfake.Cluster, topic string, from, count int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for n := range count {
		if err := client.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint("order ", from+n))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStintComesLater: records wait until Stint is up, and none is lost.
func TestStintComesLater(t *testing.T) {
	address := servertest.Reserved(t)
	limiter := stint.Connect([]string{address}, stint.FailClosed())
	defer limiter.Close()
	passed := make(chan error)
	go func() { passed <- turn(t.Context(), limiter, "k", stint.PerSecond(1000).Queue(10)) }()
	server, err := servertest.StartAt(address)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	if err := <-passed; err != nil {
		t.Error(err)
	}
}
