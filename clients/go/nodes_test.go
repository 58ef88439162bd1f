package stint

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// TestMovedToSeveral: keys of one batch may have several leaders, one of each group of a cluster.
func TestMovedToSeveral(t *testing.T) {
	addresses := map[string]string{}
	for _, name := range []string{"a", "b", "neither"} {
		server, err := servertest.NewScripted(func(words []string) string {
			if leader := words[len(words)-1]; leader != name {
				return "-MOVED 7 " + addresses[leader]
			}
			return "+" + name
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		addresses[name] = server.Address
	}
	n := newNodes([]string{addresses["neither"]}, time.Minute, newSettings(FailOpen(), nil).connect)
	defer n.close()
	var commands []redis.Cmder
	for _, key := range []string{"a", "b", "a"} {
		commands = append(commands, once{redis.NewCmd(t.Context(), "GET", key)})
	}
	n.send(t.Context(), commands)
	for _, command := range commands {
		if got, err := command.(once).Text(); err != nil || got != command.Args()[1] {
			t.Errorf("%v: %q, %v", command.Args(), got, err)
		}
	}
}
