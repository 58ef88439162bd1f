// Kafka reads records from a topic and passes them to a service at a rate that all consumers of all processes share.
// The records wait in Kafka, in order within each partition, and are committed after the service took them.
//
//	go run ./kafka -brokers 127.0.0.1:9092 -topic orders -group billing -stint 127.0.0.1:6379
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	stint "github.com/stintdb/stint/clients/go"
)

func main() {
	brokers := flag.String("brokers", "127.0.0.1:9092", "Kafka brokers, with commas between")
	topic := flag.String("topic", "orders", "topic to read")
	group := flag.String("group", "billing", "consumer group")
	addresses := flag.String("stint", "127.0.0.1:6379", "addresses of Stint's nodes, with commas between")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	limiter := stint.Connect(strings.Split(*addresses, ","), stint.FailClosed(), stint.Timeout(time.Second))
	defer limiter.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(*brokers, ",")...), kgo.ConsumeTopics(*topic), kgo.ConsumerGroup(*group), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll())
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseAllowingRebalance()
	err = consume(ctx, client, limiter, "downstream:"+*topic, stint.PerSecond(50).Queue(1000), func(r *kgo.Record) error {
		_, err := fmt.Printf("%s[%d]@%d %s\n", r.Topic, r.Partition, r.Offset, r.Value)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// retryEvery is the time between attempts while Stint does not answer or the queue is full.
const retryEvery = time.Second

// batch is the number of records between two commits. The group cannot rebalance while a batch waits for its turn, so a
// batch must take less time than the session and rebalance timeouts: a hundred records at 50 a second take 2 s.
const batch = 100

// consume passes records on, each at its turn, until ctx is over or one fails. It then commits the records passed on.
func consume(ctx context.Context, client *kgo.Client, limiter *stint.Limiter, key string, limit stint.Limit, handle func(*kgo.Record) error) error {
	for {
		fetched := client.PollRecords(ctx, batch)
		if err := fetched.Err0(); err != nil {
			return err
		}
		var done []*kgo.Record
		var err error
		for _, record := range fetched.Records() {
			if err = turn(ctx, limiter, key, limit); err != nil {
				break
			}
			if err = handle(record); err != nil {
				break
			}
			done = append(done, record)
		}
		if len(done) > 0 {
			if failed := client.CommitRecords(context.WithoutCancel(ctx), done...); err == nil {
				err = failed
			}
		}
		client.AllowRebalance()
		if err != nil {
			return err
		}
	}
}

// turn waits for a place in the queue and then for its turn. While the queue is full, the record waits; Kafka keeps the
// others.
func turn(ctx context.Context, limiter *stint.Limiter, key string, limit stint.Limit) error {
	for {
		err := limiter.Wait(ctx, key, limit)
		if !errors.Is(err, stint.ErrDenied) {
			return err
		}
		log.Printf("waiting: %v", err)
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
