package stint

import (
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestSlots(t *testing.T) {
	text, err := os.ReadFile("../vectors/slots.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Words []any
		Slot  *int
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		key := keyOf(v.Words)
		if (v.Slot == nil) != (key == "") || v.Slot != nil && slotOf(key) != *v.Slot {
			t.Errorf("%v: key %q, slot %d", v.Words, key, slotOf(key))
		}
	}
}

// scriptedLeaders are two nodes, of which the first leads the lower half of the slots and the second the upper half. A
// node redirects requests for the slots of the other, and counts them.
func scriptedLeaders(t *testing.T, redirected *atomic.Int64) (addresses [2]string) {
	t.Helper()
	for own := range addresses {
		server, err := servertest.NewScripted(func(words []string) string {
			if words[0] == "cluster" {
				node := func(i int) string { return fmt.Sprintf("*2\r\n+127.0.0.1\r\n:%s", addresses[i][len("127.0.0.1:"):]) }
				return fmt.Sprintf("*2\r\n*3\r\n:0\r\n:8191\r\n%s\r\n*3\r\n:8192\r\n:16383\r\n%s", node(0), node(1))
			}
			if leader := slotOf(words[1]) / 8192; leader != own {
				redirected.Add(1)
				return "-MOVED 7 " + addresses[leader]
			}
			return "+OK"
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		addresses[own] = server.Address
	}
	return addresses
}

// TestLeaders: once a client knows the leaders, each request goes to the leader of its key. It asks for them if it has
// several addresses, or when the only one has redirected it.
func TestLeaders(t *testing.T) {
	var redirected atomic.Int64
	addresses := scriptedLeaders(t, &redirected)
	for name, given := range map[string][]string{"both given": addresses[:], "one given": addresses[:1]} {
		t.Run(name, func(t *testing.T) {
			n := newNodes(given, time.Minute, newSettings(FailOpen(), nil).connect)
			defer n.close()
			send := func() (moved int64) {
				before := redirected.Load()
				var commands []redis.Cmder
				for i := range 20 {
					commands = append(commands, once{redis.NewCmd(t.Context(), "GET", fmt.Sprint("key:", i))})
				}
				n.send(t.Context(), commands)
				for _, command := range commands {
					if err := command.Err(); err != nil {
						t.Errorf("%v: %v", command.Args(), err)
					}
				}
				return redirected.Load() - before
			}
			for send() > 0 { // until it knows the leaders
			}
			n.leave(n.clients[0])
			if n.leaderOf("foo") == nil || n.leaderOf("key:0") == n.clients[0] { // foo has the slot 12182
				t.Error("only the node that was left must lead nothing")
			}
		})
	}
}
