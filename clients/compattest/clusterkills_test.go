//go:build e2e

package compattest

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

const (
	killGroups = 4
	killLimit  = 60                    // of each key; it refills by a token a year
	takeEvery  = 20 * time.Millisecond // by each client
)

// killTags are hash tags of the groups' slots: 0-4095, 4096-8191, …
var killTags = [killGroups]string{"3", "2", "1", "0"}

// taking has calls made by a client for clusters.
type taking interface {
	passed(key string, calls int) (int, error)
}

// clusterPrograms are the clients, by the folders of suites. Lettuce has a request wait for the node that it was sent to, also while that is gone, and
// fails the one whose reply is being awaited when a connection is reset, whatever its settings.
var clusterPrograms = []struct {
	folder, library string
	command         []string
	waitsForNode    bool
}{
	{"go", "go-redis", []string{"../build/go"}, false},
	{"python", "redis-py", []string{"../build/python/bin/python", "take.py"}, false},
	{"node", "ioredis", []string{"node", "take.mjs"}, false},
	{"java", "Jedis", []string{"java", "-classpath", "../build/java/classes:../build/java/libraries/*", "Take", "Jedis"}, false},
	{"java", "Lettuce", []string{"java", "-classpath", "../build/java/classes:../build/java/libraries/*", "Take", "Lettuce"}, true},
}

// Clients for clusters take the same limits in four groups, each with its own keys' leader, while a node is killed, another one ended, and leaders
// move back to both: no error reaches the application, and no limit grants more than it has.
func TestClusterClientsThroughKills(t *testing.T) {
	neverCached(t)
	for _, s := range suites {
		switch s.folder {
		case "go", "python", "node", "java":
			s.install(t)
		}
	}
	require(t, "redis-cli", "Redis's command line tools, version 7 or later")
	nodes := testserver.StartNodes(t, testserver.Build(t, filepath.Join("..", "..")), 3, "--redirect", "moved", "--groups", fmt.Sprint(killGroups))
	var addresses []string
	for _, node := range nodes {
		addresses = append(addresses, node.Address)
	}
	awaitLeaders(t, nodes, "cluster_size:3")
	limits := &sharedLimits{granted: map[string]int{}, stop: make(chan struct{})}
	stop := sync.OnceFunc(func() { close(limits.stop) })
	defer stop()
	var takers []*taker
	add := func(library string, client taking, waits bool) {
		takers = append(takers, &taker{T: t, library: library, client: client, limits: limits, waitsForNode: waits})
	}
	for _, p := range clusterPrograms {
		started, err := startLimiting(testserver.Context(t), p.folder, append(p.command[:len(p.command):len(p.command)], strings.Join(addresses, ","), fmt.Sprint(killLimit)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(started.end)
		if _, err := started.answer("uses"); err != nil {
			t.Fatalf("%s: %v", p.library, err)
		}
		add(p.library, started, p.waitsForNode)
	}
	add("redis-cli -c", &cliTaking{t, addresses}, false)
	var running sync.WaitGroup
	for _, c := range takers {
		running.Go(c.run)
	}
	killAndEnd(t, nodes, takers)
	stop()
	running.Wait()
	limits.check(t)
	for _, c := range takers {
		t.Logf("%s: %d granted, %d of unknown outcome", c.library, c.granted, c.unknown)
	}
}

// killAndEnd kills a node, starts it again, and has the node that leads group 0 end and start again. All clients go on after each of these.
func killAndEnd(t *testing.T, nodes []*testserver.Process, takers []*taker) {
	began := time.Now()
	goOn := func(when string, all bool) {
		t.Helper()
		defer func() { t.Logf("%s: %v", when, time.Since(began).Round(time.Millisecond)) }()
		for _, c := range takers {
			if all || !c.waitsForNode {
				c.awaitRound(when)
			}
		}
	}
	goOn("at first", true)
	killed := nodes[0]
	if killed.Leads() {
		killed = nodes[1]
	}
	if err := killed.End(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	goOn("after a node was killed", false)
	killed.Start(t)
	killed.AwaitFormed(t)
	goOn("after it came back", true)
	ended := leaderOf(t, nodes)
	if err := ended.End(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	goOn("after a node was ended", false)
	ended.Start(t)
	ended.AwaitFormed(t)
	awaitLeaders(t, nodes, "cluster_size:3") // a new leader of group 0 has leaders move to the others
	goOn("after leaders moved", true)
}

// awaitLeaders waits until all groups have leaders and CLUSTER INFO has a line.
func awaitLeaders(t *testing.T, nodes []*testserver.Process, line string) {
	t.Helper()
	for _, node := range nodes {
		testwait.Until(t, "the nodes lead groups", func() bool {
			return node.Says("CLUSTER INFO", line) && node.Says("CLUSTER INFO", "cluster_state:ok")
		})
	}
}

// sharedLimits are those that all clients take at the same time: one of each group, and the next one once it is used up.
type sharedLimits struct {
	stop chan struct{}

	mu      sync.Mutex
	used    [killGroups]int
	granted map[string]int
}

// next is the key of a group to be asked.
func (l *sharedLimits) next(group int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("{%s}%d", killTags[group-1], l.used[group-1])
}

func (l *sharedLimits) note(group int, key string, granted int) {
	used := granted == 0 && key == l.next(group)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted[key] += granted; used {
		l.used[group-1]++
	}
}

func (l *sharedLimits) check(t *testing.T) {
	for key, granted := range l.granted {
		if granted > killLimit {
			t.Errorf("%s: %d granted; the limit is %d", key, granted, killLimit)
		}
	}
	for group, used := range l.used {
		if used == 0 {
			t.Errorf("no limit of group %d was used up: this test shows nothing", group+1)
		}
	}
}

// taker has a client take limits of all groups in turn.
type taker struct {
	*testing.T
	library      string
	client       taking
	limits       *sharedLimits
	waitsForNode bool

	mu               sync.Mutex
	rounds           int // over all groups
	granted, unknown int
	ended            bool
}

func (c *taker) run() {
	defer func() { c.mu.Lock(); c.ended = true; c.mu.Unlock() }()
	pace := time.NewTicker(takeEvery)
	defer pace.Stop()
	for group := 1; ; group = group%killGroups + 1 {
		select {
		case <-c.limits.stop:
			return
		case <-pace.C:
		}
		key := c.limits.next(group)
		granted, err := c.client.passed(key, 2)
		switch {
		case err != nil && (strings.Contains(err.Error(), "UNCERTAIN") || c.waitsForNode && strings.Contains(err.Error(), "Connection reset")):
			granted = 0 // perhaps it was granted, but only answers are compared with the limit
		case err != nil:
			c.Errorf("%s: %v", c.library, err)
			return
		}
		if err == nil {
			c.limits.note(group, key, granted)
		}
		c.mu.Lock()
		if c.granted += granted; err != nil {
			c.unknown++
		}
		if group == killGroups {
			c.rounds++
		}
		c.mu.Unlock()
	}
}

// awaitRound waits until the client has asked all groups from here on.
func (c *taker) awaitRound(when string) {
	c.Helper()
	from := -1
	testwait.Until(c.T, c.library+" goes on "+when, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if from < 0 {
			from = c.rounds
		}
		return c.rounds >= from+2 || c.ended
	})
}

// cliTaking runs redis-cli -c for each call like a script, and again while its node or the one that it is sent to is gone.
type cliTaking struct {
	*testing.T
	nodes []string
}

func (c *cliTaking) passed(key string, calls int) (granted int, err error) {
	for made := 0; made < calls; {
		host, port, err := net.SplitHostPort(c.nodes[0])
		if err != nil {
			return 0, err
		}
		output, err := testserver.Command(c.T, "redis-cli", "-c", "-h", host, "-p", port, "TB.ACQUIRE", key, fmt.Sprint(killLimit), "1/365d").CombinedOutput()
		text := string(output)
		switch {
		case strings.Contains(text, "Could not connect"), strings.Contains(text, "closed the connection"), strings.Contains(text, "Connection reset"):
			c.nodes = append(c.nodes[1:len(c.nodes):len(c.nodes)], c.nodes[0])
			continue
		case err != nil:
			return 0, fmt.Errorf("%w: %s", err, text)
		}
		var one int
		if _, err := fmt.Sscan(text, &one); err != nil {
			return 0, fmt.Errorf("%q", text)
		}
		granted += one
		made++
	}
	return granted, nil
}
