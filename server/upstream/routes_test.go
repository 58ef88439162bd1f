package upstream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/command"
)

// startNaming starts a node of a cluster that decides nothing, and names another one for each key.
func startNaming(t *testing.T, names func(key string) (address string), asked *atomic.Int64) (address string) {
	return startRefusing(t, func(key string) string {
		asked.Add(1)
		return fmt.Sprintf("MOVED %d %s", slot.Of([]byte(key)), names(key))
	})
}

// startRefusing starts a node that answers requests for a key with an error.
func startRefusing(t *testing.T, refusal func(key string) string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go func() {
				in := bufio.NewReader(conn)
				for {
					words := readCommand(in)
					switch {
					case words == nil:
						return
					case words[0] == "PING":
						_, _ = io.WriteString(conn, "+PONG\r\n")
					default:
						fmt.Fprintf(conn, "-%s\r\n", refusal(words[1]))
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// readCommand reads a command as an array, nil at the end.
func readCommand(in *bufio.Reader) (words []string) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil
	}
	count, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	for range count {
		_, _ = in.ReadString('\n')
		word, _ := in.ReadString('\n')
		words = append(words, strings.TrimSpace(word))
	}
	return words
}

// Each key of home is asked for at the node that decides its slot, which the first one names once for each slot. If
// that node is gone, the first one is asked again.
func TestHomeOfSeveralLeaders(t *testing.T) {
	leaders := []*running{start(t, "", nil), start(t, "", nil)}
	var isGone atomic.Bool
	var asked atomic.Int64
	first := startNaming(t, func(key string) string {
		if slot.Of([]byte(key)) < 8192 && !isGone.Load() {
			return leaders[0].address
		}
		return leaders[1].address
	}, &asked)
	region := start(t, first, nil)
	c := dial(t, region.address)
	const keys = 8
	take := func(key int) error {
		ints, failure := c.do(fmt.Sprintf("TB.ACQUIRE g:%d 9 1/6h", key))
		if failure != "" || len(ints) != 5 || ints[0] != 1 {
			return fmt.Errorf("key %d: %d %s", key, ints, failure)
		}
		return nil
	}
	for round := range 3 {
		for key := range keys {
			if err := take(key); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked.Load(); n != keys {
			t.Errorf("after round %d the first node was asked %d times, want once for each of %d keys", round+1, n, keys)
		}
	}
	for i, l := range leaders {
		if l.store.Len() == 0 {
			t.Errorf("leader %d has no key", i+1)
		}
	}
	isGone.Store(true)
	leaders[0].end()
	for key := range keys {
		testwait.UntilNil(t, "the other leader decides", func() error { return take(key) })
	}
	if n := region.upstream.Status().Failed; n != 0 {
		t.Errorf("%d requests were not decided, though the first node would have named another leader", n)
	}
	if n := leaders[1].store.Len(); n != keys {
		t.Errorf("the leader that is left has %d keys of %d", n, keys)
	}
}

// A leader that was cut off from the other nodes is still there, and decides nothing: the first node names the next leader.
func TestLeaderThatWasCutOff(t *testing.T) {
	leader, asked := start(t, "", nil), new(atomic.Int64)
	cutOff := startRefusing(t, func(string) string { return command.ErrNoLeader.Error() })
	first := startNaming(t, func(string) string {
		if asked.Load() == 1 {
			return cutOff
		}
		return leader.address
	}, asked)
	region := start(t, first, nil)
	for range 3 {
		if ints, failure := dial(t, region.address).do("TB.ACQUIRE g:1 9 1/6h"); failure != "" || ints[0] != 1 {
			t.Errorf("%v %s", ints, failure)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the first node was asked %d times, want twice", n)
	}
}
