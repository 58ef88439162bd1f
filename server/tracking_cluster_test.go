package server

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testsize"
)

// A client of another node than the leader reads and caches there, while the leader has changes under way. Once the
// node has applied them, nothing in the cache differs from the state.
func TestCachesOnFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newClusterTimePlayer(t, false, soon, 0)
		random := rand.New(rand.NewPCG(testsize.Seed(), 3))
		c := &cacheClient{p.open("c"), map[string]string{}}
		c.do(t, "HELLO 3", "CLIENT TRACKING ON")
		hits := 0
		for n := range 500 {
			key := "k" + strconv.Itoa(random.IntN(4))
			set := engine.Op{Verb: engine.Command, Args: [][]byte{[]byte("SET"), []byte(key), []byte(strconv.Itoa(n))}, KeyFrom: 1, KeyCount: 1}
			changed := make(chan struct{})
			b := &engine.Batch{Ops: []engine.Op{set}, Results: make([]engine.Result, 1), Done: func() { close(changed) }}
			finished := true
			if random.IntN(2) == 0 {
				finished = p.leader.Group().Decide(b) // its entry may not be applied anywhere when the read is decided
			}
			read := []string{"GET " + key}
			if random.IntN(3) == 0 {
				read = []string{"GET " + key, "GET k0", "PING"}
			}
			c.do(t, read...)
			if !finished {
				<-changed
			}
			if err := p.catchUp(); err != nil {
				t.Fatal(err)
			}
			p.settle()
			c.do(t, "PING")
			for key, value := range c.cached {
				hits++
				now := "null"
				b := []engine.Op{{Verb: engine.Command, Options: engine.Peek, Args: [][]byte{[]byte("GET"), []byte(key)}, KeyFrom: 1, KeyCount: 1}}
				results := make([]engine.Result, 1)
				p.store.Apply(p.own.Group().Now(), b, results)
				if reply := string(results[0].Reply); reply != "$-1\r\n" {
					var length int
					var text string
					_, _ = fmt.Sscanf(reply, "$%d\r\n%s", &length, &text)
					now = strconv.Quote(text)
				}
				if now != value {
					t.Fatalf("step %d: the cache has %s for %s, which is %s", n, value, key, now)
				}
			}
		}
		if hits < 100 {
			t.Errorf("only %d values were in the cache", hits)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}
