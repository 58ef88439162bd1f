package stint_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// leader is the address of the leader according to one of the nodes; empty if there is none.
func leader(addresses []string) string {
	for _, address := range addresses {
		client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
		slots, err := client.ClusterShards(context.Background()).Result()
		role, _ := client.Do(context.Background(), "ROLE").Slice()
		client.Close()
		if err == nil && len(slots) > 0 && len(role) > 0 && role[0] == "master" {
			return address
		}
	}
	return ""
}

// TestCluster: through every kind of client, with nodes that forward and nodes that redirect, while the leader is
// killed under load. The limits hold, whatever becomes of the requests that were on their way, and all goes on
// afterwards, until they are used up.
func TestCluster(t *testing.T) {
	for name, flags := range map[string][]string{"forwarding": nil, "redirecting": {"--redirect", "moved"}} {
		t.Run(name, func(t *testing.T) {
			cluster, err := servertest.StartCluster(flags...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Kill)
			at := cluster.Addresses()
			clusterClient := redis.NewClusterClient(&redis.ClusterOptions{Addrs: at})
			defer clusterClient.Close()
			const timeout = 10 * time.Second
			limiters := map[string]*stint.Limiter{
				"address list":       stint.Connect(at, stint.FailClosed(), stint.Timeout(timeout)),
				"other address list": stint.Connect([]string{at[2], at[0], at[1]}, stint.FailClosed(), stint.Timeout(timeout)),
				"cluster client":     stint.New(clusterClient, stint.FailClosed(), stint.Timeout(timeout)),
			}
			for name, l := range limiters {
				defer l.Close()
				waitFor(t, name+" is answered", func() bool { return allow(t, l).Source == stint.Server })
			}

			first := ""
			waitFor(t, "there is a leader", func() bool { first = leader(at); return first != "" })

			const tokens = 1500
			begun := time.Now()
			var granted, uncertain, deniedLeases, deniedCalls atomic.Int64
			var over atomic.Bool
			var all sync.WaitGroup
			for _, l := range limiters {
				leases := l.Lease(stint.LeaseOptions{})
				defer leases.Close(t.Context())
				for i := range 4 {
					all.Go(func() {
						for !over.Load() {
							var r stint.Result
							var err error
							if i == 0 {
								r, err = leases.Allow(t.Context(), "leased", stint.PerDay(tokens))
							} else {
								r, err = l.Allow(t.Context(), "k", stint.PerDay(tokens))
							}
							switch {
							case err != nil:
								t.Error(err)
							case r.Allowed:
								granted.Add(1)
							case r.Source == stint.Fallback:
								uncertain.Add(1)
							case i == 0:
								deniedLeases.Add(1)
							default:
								deniedCalls.Add(1)
							}
							time.Sleep(time.Millisecond)
						}
					})
				}
			}
			defer all.Wait()
			defer over.Store(true)
			waitFor(t, "there is load", func() bool { return granted.Load() > 200 })
			cluster.Node(first).Kill()
			t.Logf("%s led, and %d were granted", first, granted.Load())
			waitFor(t, "it goes on until the limits are used up", func() bool { return deniedLeases.Load() > 0 && deniedCalls.Load() > 0 })
			for name, l := range limiters {
				waitFor(t, name+" is answered by the new leader", func() bool { return allow(t, l).Source == stint.Server })
			}
			over.Store(true)
			all.Wait()
			// Two keys, and the tokens that have come in since.
			if n, most := granted.Load(), 2*(tokens+1+int64(tokens*time.Since(begun)/(24*time.Hour))); n > most {
				t.Errorf("%d granted of %d", n, most)
			}
			t.Logf("%d granted, %d decided by the fallback", granted.Load(), uncertain.Load())
		})
	}
}
