package stint

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// scriptedLeaders are two nodes, of which the first leads the lower half of the slots and the second the upper half. They
// answer other commands by reply, which gets the number of the node.
func scriptedLeaders(t *testing.T, reply func(own int, words []string) string) (addresses [2]string) {
	t.Helper()
	for own := range addresses {
		server, err := servertest.NewScripted(func(words []string) string {
			if words[0] == "cluster" {
				node := func(i int) string { return fmt.Sprintf("*2\r\n+127.0.0.1\r\n:%s", addresses[i][len("127.0.0.1:"):]) }
				return fmt.Sprintf("*2\r\n*3\r\n:0\r\n:8191\r\n%s\r\n*3\r\n:8192\r\n:16383\r\n%s", node(0), node(1))
			}
			return reply(own, words)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		addresses[own] = server.Address
	}
	return addresses
}

// Keys of the first and the second of the scripted leaders: their slots are 4813 and 12182.
const lowKey, highKey = "hello", "foo"

// TestLeaders: once a client knows the leaders, each request goes to the leader of its key. It asks for them if it has
// several addresses, or when the only one has redirected it.
func TestLeaders(t *testing.T) {
	var redirected atomic.Int64
	var addresses [2]string
	addresses = scriptedLeaders(t, func(own int, words []string) string {
		if leader := slotOf(words[1]) / 8192; leader != own {
			redirected.Add(1)
			return "-MOVED 7 " + addresses[leader]
		}
		return "+OK"
	})
	for name, given := range map[string][]string{"both given": addresses[:], "one given": addresses[:1]} {
		t.Run(name, func(t *testing.T) {
			l := Connect(given, FailOpen(), Timeout(time.Minute))
			defer l.Close()
			send := func() (moved int64) {
				before := redirected.Load()
				for i := range 20 {
					key := fmt.Sprint("key:", i)
					if _, err := l.ask(t.Context(), []any{"GET", key}); err != nil {
						t.Errorf("%s: %v", key, err)
					}
				}
				return redirected.Load() - before
			}
			for send() > 0 { // until it knows the leaders
			}
			n := l.pipes.nodes
			n.leave(n.leader(lowKey))
			if n.leader(highKey) == nil || n.leader(lowKey) != nil {
				t.Error("only the node that was left must lead nothing")
			}
		})
	}
}

// TestSilentLeader: a leader that does not answer this client, and that another node goes on naming, delays only the
// calls for its own keys. Once it was left, it gets no calls until it answers again.
func TestSilentLeader(t *testing.T) {
	asked, answers := make(chan struct{}), make(chan struct{})
	addresses := scriptedLeaders(t, func(own int, _ []string) string {
		if own == 1 {
			asked <- struct{}{}
			<-answers
		}
		return "+OK"
	})
	l := Connect(addresses[:], FailOpen(), Timeout(time.Minute))
	defer l.Close()
	n := l.pipes.nodes
	n.learn(n.clients[0])
	var calls sync.WaitGroup
	for range maxPipelines {
		calls.Go(func() { _, _ = l.ask(t.Context(), []any{"GET", highKey}) })
		<-asked
	}
	if _, err := l.ask(t.Context(), []any{"GET", lowKey}); err != nil {
		t.Errorf("a call to the other leader: %v", err)
	}
	n.leave(n.clients[1])
	n.learn(n.clients[0])
	if n.leader(highKey) != nil || n.leader(lowKey) == nil {
		t.Error("only the node that does not answer must lead nothing")
	}
	close(answers)
	calls.Wait()
	n.mu.Lock()
	n.leaders.asked = time.Time{}
	n.mu.Unlock()
	n.leader(highKey)            // sends a PING
	for n.isLeft(n.clients[1]) { // until the PING is answered
		runtime.Gosched()
	}
	n.learn(n.clients[0])
	if n.leader(highKey) != n.clients[1] {
		t.Error("the node that answers again must lead its keys")
	}
}
