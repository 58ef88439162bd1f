package stint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// TestFollowsLeaders: with groups whose nodes forward, a limiter sends each request to the leader of its key, so no node
// forwards any; when a node dies, the others answer.
func TestFollowsLeaders(t *testing.T) {
	t.Parallel() // waits until the groups have leaders
	cluster, err := servertest.StartCluster("--groups", "3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Kill)
	at := cluster.Addresses()
	l := stint.Connect(at, stint.FailClosed(), stint.Timeout(bound))
	defer l.Close()
	forwarded := func() (texts string) {
		for _, address := range at {
			client := redis.NewClient(&redis.Options{Addr: address})
			info, err := client.Info(t.Context(), "cluster").Result()
			client.Close()
			_, count, found := strings.Cut(info, "forwarded:")
			if err != nil || !found {
				t.Fatalf("%s does not say what it has forwarded: %v in %q", address, err, info)
			}
			texts += strings.Fields(count)[0] + " "
		}
		return texts
	}
	inspecting := redis.NewClient(&redis.Options{Addr: at[1]})
	defer inspecting.Close()
	waitFor(t, "each node leads a group", func() bool {
		slots, _ := inspecting.ClusterSlots(t.Context()).Result() //nolint:staticcheck // it is what the limiter asks
		leading := map[string]bool{}
		for _, s := range slots {
			leading[s.Nodes[0].Addr] = true
		}
		return len(leading) == 3
	})
	round := 0
	ask := func() (answered bool) {
		round++
		for i := range 30 {
			r, err := l.Allow(t.Context(), fmt.Sprintf("key:%d:%d", round, i), stint.PerDay(5))
			if err != nil || r.Source != stint.Server {
				return false
			}
		}
		return true
	}
	waitFor(t, "no request is forwarded", func() bool {
		before := forwarded()
		return ask() && forwarded() == before
	})
	cluster.Node(at[0]).Kill()
	waitFor(t, "the other two answer for all keys", ask)
}
