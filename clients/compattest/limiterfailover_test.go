//go:build e2e

package compattest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

const (
	failoverLimit   = 300   // calls that each key lets pass
	failoverSeconds = 36000 // in which they come back: longer than the test
	failoverKills   = 3
)

// failoverPrograms are programs that take a limit. Some take the addresses of a cluster.
var failoverPrograms = []struct {
	language, program string
	clusters          bool
}{
	{"Node.js", "rate-limiter-flexible.mjs ioredis", true},
	{"Node.js", "rate-limiter-flexible.mjs node-redis", false},
	{"Go", "redis_rate", true},
}

// Limiter libraries let no call pass beyond their limit when leaders are killed, and all that the limit allows but for calls
// whose outcome they did not learn. Their clients are those for one server, each connected to another node of a
// cluster that forwards, or those for clusters where followers redirect.
func TestLimitersThroughFailover(t *testing.T) {
	neverCached(t)
	for _, l := range allLimiters {
		if l.language == "Node.js" || l.language == "Go" {
			l.install(t)
		}
	}
	program := testserver.Build(t, filepath.Join("..", ".."))
	for _, redirect := range []string{"forward", "moved"} {
		t.Run(redirect, func(t *testing.T) {
			t.Parallel()
			nodes := testserver.StartNodes(t, program, 3, "--redirect", redirect)
			var clients []*failoverClient
			for i, p := range failoverPrograms {
				if redirect == "moved" && !p.clusters {
					continue
				}
				for n := range nodes {
					address := nodes[n].Address
					if redirect == "moved" {
						address = strings.Join([]string{address, nodes[(n+1)%3].Address, nodes[(n+2)%3].Address}, ",")
					}
					clients = append(clients, startFailoverClient(t, i, address))
				}
			}
			for round := range failoverKills {
				failoverRound(t, nodes, clients, round)
			}
		})
	}
}

// failoverRound uses up one key of each program, and kills the leader in the middle of it: programs that are ahead wait at half of
// the limit until it is dead.
func failoverRound(t *testing.T, nodes []*testserver.Process, clients []*failoverClient, round int) {
	use := make([]failoverUse, len(failoverPrograms))
	killed := make(chan bool)
	var running sync.WaitGroup
	for _, c := range clients {
		u := &use[c.program]
		u.clients++
		running.Go(func() {
			if err := c.useUp(fmt.Sprintf("failover-%d-%d", c.program, round), u, killed); err != nil {
				t.Error(err)
			}
		})
	}
	leader := leaderOf(t, nodes)
	for i := range use {
		for use[i].clients > 0 && use[i].passedNow() < failoverLimit/10 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
	}
	if err := leader.End(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	for i := range use {
		use[i].before = use[i].passedNow()
	}
	close(killed)
	leaderOf(t, nodes)
	leader.Start(t) // its clients wait for it
	running.Wait()
	leader.AwaitFormed(t)
	for i := range use {
		if use[i].clients > 0 {
			use[i].check(t, failoverPrograms[i].program)
		}
	}
}

// leaderOf waits until a node leads.
func leaderOf(t *testing.T, nodes []*testserver.Process) *testserver.Process {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, node := range nodes {
			if node.Leads() {
				return node
			}
		}
	}
	t.Fatal("there is no leader")
	return nil
}

// failoverUse is the outcome of all calls on one key.
type failoverUse struct {
	clients int
	before  int // passed before the leader was killed

	mu                       sync.Mutex
	passed, refused, unknown int
}

func (u *failoverUse) passedNow() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.passed
}

func (u *failoverUse) check(t *testing.T, program string) {
	t.Logf("%s: %d calls passed, %d of them before the leader was killed; %d refused, %d of unknown outcome", program, u.passed, u.before, u.refused, u.unknown)
	if u.passed > failoverLimit {
		t.Errorf("%s: %d calls passed; the limit is %d", program, u.passed, failoverLimit)
	}
	// Each client may have lost one answer with its connection, and asked again by itself.
	if u.passed+u.unknown+u.clients < failoverLimit {
		t.Errorf("%s: %d calls passed and %d are of unknown outcome; the limit is %d", program, u.passed, u.unknown, failoverLimit)
	}
	if u.before >= failoverLimit {
		t.Errorf("%s had used up its limit before the leader was killed", program)
	}
}

// failoverClient is a process of a program in failoverPrograms.
type failoverClient struct {
	*limiting
	program int
}

func startFailoverClient(t *testing.T, program int, address string) *failoverClient {
	for _, l := range allLimiters {
		if p := failoverPrograms[program]; l.language == p.language {
			args := strings.Fields(p.program)
			command := append(append(l.run[:len(l.run):len(l.run)], args[0], address), args[1:]...)
			started, err := startLimiting(testserver.Context(t), l.folder, append(command, fmt.Sprint(failoverLimit), fmt.Sprint(failoverSeconds)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(started.end)
			if _, err := started.answer("uses"); err != nil {
				t.Fatal(err)
			}
			return &failoverClient{started, program}
		}
	}
	panic("no programs in " + failoverPrograms[program].language)
}

// useUp makes calls until one is denied. Those that fail while there is no leader are made again.
func (c *failoverClient) useUp(key string, u *failoverUse, killed <-chan bool) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if u.passedNow() >= failoverLimit/2 {
			select {
			case <-killed:
			case <-time.After(time.Until(deadline)):
			}
		}
		passed, err := c.passed(key, 1)
		if errors.Is(err, errProgramEnded) {
			return err
		}
		u.note(passed, err)
		switch {
		case err != nil:
			time.Sleep(10 * time.Millisecond)
		case passed == 0:
			return nil
		}
	}
	return fmt.Errorf("%s was not used up within %v", key, patience)
}

func (u *failoverUse) note(passed int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil:
		u.passed += passed
	case wasRefused(err):
		u.refused++
	default:
		u.unknown++
	}
}

// wasRefused reports whether a call certainly took nothing.
func wasRefused(err error) bool {
	return strings.Contains(err.Error(), "CLUSTERDOWN") || strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "ECONNREFUSED")
}
