package server

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/transcripttest"
)

// With NOLOOP a connection gets no invalidation for its own changes, but for those of others: also where its own
// command changed nothing.
func TestOwnChangesWithoutLoop(t *testing.T) {
	const script = `
a> HELLO 3
{…}
a> CLIENT TRACKING ON NOLOOP
+OK
a> GET k
null
a> SET k 1
+OK
a> GET k
"1"
b> SET k 2
+OK
a< push["invalidate" ["k"]]
a> GET k
"2"
a> SETNX k 1
0
b> SET k 3
+OK
a< push["invalidate" ["k"]]
a> GET k
"3"
a> MULTI
+OK
a> DEL k
+QUEUED
a> SET l 1
+QUEUED
a> EXEC
[1 +OK]
a> CLIENT TRACKING OFF
+OK
a> CLIENT TRACKING ON BCAST NOLOOP PREFIX k
+OK
a> SET k 1
+OK
b> SET k 2
+OK
a< push["invalidate" ["k"]]
a> CLIENT TRACKINGINFO
{"flags": ~["on" "bcast" "noloop"], "redirect": 0, "prefixes": ["k"]}
`
	for name, p := range map[string]*sessionPlayer{"at once": newSessionPlayer(t, 0), "later": newLaterPlayer(t, 0)} {
		got, err := transcripttest.Replay(script, p)
		if err == nil {
			err = p.Close()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got != script {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// cacheClient is a client that caches the values that it reads, and obeys invalidations.
type cacheClient struct {
	*pipe
	cached map[string]string
}

// do sends commands in one piece, and returns the replies without the push messages, which it obeys: those before a
// reply are older.
func (c *cacheClient) do(t *testing.T, commands ...string) (replies []string) {
	c.deliver(frames(commands...))
	for len(replies) < len(commands) {
		reply, err := transcripttest.ReadReply(c.unread)
		if err != nil {
			t.Fatalf("%v: %v", commands, err)
		}
		if c.obey(reply) {
			continue
		}
		if key, isRead := strings.CutPrefix(commands[len(replies)], "GET "); isRead {
			c.cached[key] = reply
		}
		replies = append(replies, reply)
	}
	return replies
}

// obey takes a push message, and reports whether it is one.
func (c *cacheClient) obey(reply string) bool {
	switch {
	case reply == `push["invalidate" null]`:
		clear(c.cached)
	case strings.HasPrefix(reply, `push["invalidate" [`):
		for _, key := range strings.Fields(strings.Trim(strings.TrimPrefix(reply, `push["invalidate" [`), "]")) {
			delete(c.cached, strings.Trim(key, `"`))
		}
	default:
		return false
	}
	return true
}

// A cache that obeys its invalidations is never stale: whatever connections do, once a change is answered and a PING
// behind it, the client has nothing that differs from the server.
func TestCachesAreNeverStale(t *testing.T) {
	for _, mode := range []string{"", " BCAST", " BCAST PREFIX k1 PREFIX k2 PREFIX k3 PREFIX k4", " BCAST NOLOOP", " NOLOOP", " OPTOUT"} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(strings.TrimSpace("mode"+mode), later), func(t *testing.T) { checkCaches(t, mode, later) })
		}
	}
}

func checkCaches(t *testing.T, mode string, later bool) {
	random := rand.New(rand.NewPCG(testsize.Seed(), uint64(len(mode))))
	p := newSessionPlayer(t, 0)
	if later {
		p = newLaterPlayer(t, 0)
	}
	set := *p.Config()
	set.TrackingKeys = 6
	p.settings.Store(&set)
	writer := &cacheClient{p.open("writer"), map[string]string{}}
	var clients []*cacheClient
	for i := range 3 {
		c := &cacheClient{p.open(strconv.Itoa(i)), map[string]string{}}
		c.do(t, "HELLO 3", "CLIENT TRACKING ON"+mode)
		clients = append(clients, c)
	}
	for range testsize.Pick(1000, 3000) {
		key := "k" + strconv.Itoa(1+random.IntN(9))
		change := []string{"SET " + key + " " + strconv.Itoa(random.IntN(1e9)), "DEL " + key, "SETNX " + key + " x", "APPEND " + key + " y", "FLUSHALL",
			"EVAL return(redis.call('SET',KEYS[1],'z')) 1 " + key}[random.IntN(6)]
		if change == "FLUSHALL" && random.IntN(5) > 0 {
			change = "INCR other"
		}
		c := clients[random.IntN(len(clients))]
		switch random.IntN(5) {
		case 0:
			writer.do(t, change)
		case 1: // its own change, which with NOLOOP it notes itself
			c.do(t, "GET "+key, change, "GET "+key, "PING")
			if strings.Contains(mode, "NOLOOP") {
				delete(c.cached, key)
			}
		case 2:
			c.do(t, "MULTI", change, "EXEC")
			if strings.Contains(mode, "NOLOOP") {
				delete(c.cached, key)
			}
		default:
			c.do(t, "GET "+key)
		}
		for i, c := range clients {
			c.do(t, "PING")
			for key, value := range c.cached {
				if strings.Contains(mode, "PREFIX") && key >= "k5" {
					continue
				}
				if now := valueOf(t, writer, key); now != value {
					t.Fatalf("client %d has %s for %s, which is %s after %s", i, value, key, now, change)
				}
			}
		}
	}
	if held := p.env.Tracking; mode == "" {
		if _, keys, _, _ := held.Counts(); keys > 6 {
			t.Errorf("%d keys are tracked, at most 6 may be", keys)
		}
	}
	for _, c := range clients {
		c.hangUp()
	}
	if clients, keys, items, prefixes := p.env.Tracking.Counts(); clients+keys+items+prefixes != 0 {
		t.Errorf("after all have closed, there are %d clients, %d keys, %d items and %d prefixes", clients, keys, items, prefixes)
	}
}

// valueOf is a key's value as RESP3 shows it.
func valueOf(t *testing.T, c *cacheClient, key string) string {
	if value := c.do(t, "GET "+key)[0]; value != "nil" {
		return value
	}
	return "null"
}

// While other connections count a key up, a client that was sent a count and has its PING answered has no smaller one
// in its cache.
func TestCachesUnderLoad(t *testing.T) {
	h := serve(t)
	counts, ended := make(chan int64), make(chan struct{})
	var writers sync.WaitGroup
	for range 3 {
		c := h.dial(t)
		unread := bufio.NewReader(c)
		writers.Go(func() {
			for {
				_, _ = c.Write(frames("INCR k"))
				line, err := unread.ReadString('\n')
				n, _ := strconv.ParseInt(strings.Trim(line, ":\r\n"), 10, 64)
				if err != nil || n == 0 {
					t.Errorf("INCR gets %q, %v", line, err)
					return
				}
				select {
				case counts <- n:
				case <-ended:
					return
				}
			}
		})
	}
	c := h.dial(t)
	unread, cached, cachedReads := bufio.NewReader(c), int64(0), 0
	do := func(command string) (reply string) {
		_, _ = c.Write(frames(command))
		for {
			switch reply, err := transcripttest.ReadReply(unread); {
			case err != nil:
				t.Fatal(err)
			case strings.HasPrefix(reply, "push"):
				cached = 0
			default:
				return reply
			}
		}
	}
	do("HELLO 3")
	do("CLIENT TRACKING ON")
	for range 2000 {
		least := <-counts
		do("PING")
		if cached != 0 {
			cachedReads++
			if cached < least {
				t.Fatalf("the client has %d in its cache after %d was answered", cached, least)
			}
			continue
		}
		value := do("GET k")
		cached, _ = strconv.ParseInt(strings.Trim(value, `"`), 10, 64)
	}
	close(ended)
	writers.Wait()
	t.Logf("%d reads by the cache", cachedReads)
}

// A client that does not read its invalidations costs a bounded amount of memory: beyond it, it learns once that any
// key may have changed.
func TestUnreadInvalidationsAreBounded(t *testing.T) {
	p := newSessionPlayer(t, 0)
	c, writer := p.open("c"), p.open("writer")
	c.deliver(frames("HELLO 3", "CLIENT TRACKING ON BCAST"))
	c.sent.Reset()
	for i := range 40_000 {
		writer.traffic(frame("SET", fmt.Sprint("key:", strings.Repeat("x", 40), i), "1")) // without a turn of c
	}
	if used := c.Usage().Tracking; used > 2<<20 {
		t.Errorf("%d bytes wait for a client that does not read", used)
	}
	p.settle()
	if got, want := c.sent.Bytes(), []byte(">2\r\n$10\r\ninvalidate\r\n_\r\n"); !bytes.HasPrefix(got, want) {
		t.Errorf("the client was sent %.60q, want %q", got, want)
	}
}

// Prefixes have bounds, and a client's tracked keys count as its memory.
func TestTrackingBounds(t *testing.T) {
	p := newSessionPlayer(t, 0)
	c := p.open("c")
	c.deliver(frames("HELLO 3", "CLIENT TRACKING ON"))
	before := c.Usage().Tracking
	for i := range 100 {
		c.deliver(frames(fmt.Sprint("GET key", i)))
	}
	if used := c.Usage().Tracking - before; used < 100*100 {
		t.Errorf("100 keys count as %d bytes", used)
	}
	c.deliver(frames("CLIENT TRACKING OFF"))
	if used := c.Usage().Tracking; used != 0 {
		t.Errorf("%d bytes are left without tracking", used)
	}
	c.sent.Reset()
	words := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
	for i := range 257 {
		words = append(words, "PREFIX", fmt.Sprintf("p%04d", i))
	}
	c.deliver(frame(words...))
	if got := c.sent.String(); !strings.HasPrefix(got, "-ERR a client tracks at most 256 prefixes") {
		t.Errorf("257 prefixes get %q", got)
	}
	c.sent.Reset()
	c.deliver(frame(append(words[:4:4], "PREFIX", strings.Repeat("x", 5000))...))
	if got := c.sent.String(); !strings.HasPrefix(got, "-ERR a client tracks at most 256 prefixes of at most 4096 bytes") {
		t.Errorf("a prefix of 5000 bytes gets %q", got)
	}
}

// A user does not learn by BCAST the names of keys that it may not read.
func TestBroadcastKeysAreThoseOfTheUser(t *testing.T) {
	p := newSessionPlayer(t, 0)
	admin, c := p.open("admin"), p.open("c")
	admin.deliver(frames("ACL SETUSER alice on >pw ~a:* +@all"))
	c.deliver(frames("HELLO 3 AUTH alice pw", "CLIENT TRACKING ON BCAST"))
	c.sent.Reset()
	admin.deliver(frames("SET b:1 x"))
	admin.deliver(frames("SET a:1 x"))
	if got, want := c.sent.String(), ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\na:1\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
