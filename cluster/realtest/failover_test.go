//go:build e2e

package realtest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
)

var (
	failovers = flag.Int("failovers", 2, "how often TestFailover ends the leader in each way; figures take 30 at least")
	missed    = flag.Int64("missed", 200_000, "decisions that the node in TestRejoin misses")
)

// probe takes tokens at a node, one after the other, and keeps the longest time between two answers.
type probe struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
	failed  []error
	since   int // answers since begin
}

func (p *probe) run(address string, stopped *atomic.Bool) {
	var c *conn
	for !stopped.Load() {
		var err error
		if c == nil {
			if c, err = dial(address); err != nil {
				continue
			}
		}
		if err = c.send([]string{"TB.ACQUIRE", "probe", "1000000000", "1000000/s"}); err == nil {
			_, err = readReply(c.in)
		}
		p.mu.Lock()
		if err == nil {
			p.longest = max(p.longest, time.Since(p.last))
			p.last = time.Now()
			p.since++
		} else {
			p.failed = append(p.failed, err)
		}
		p.mu.Unlock()
		if err != nil && !isRefused(err) && !isUncertain(err) {
			_ = c.Close()
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
}

// begin resets the counts.
func (p *probe) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest, p.failed, p.since, p.last = 0, nil, 0, time.Now()
}

func (p *probe) answers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since
}

// How long clients of the other nodes are without answers when the leader goes. The figures are reported, not judged: they
// depend on what else the machine does.
func TestFailover(t *testing.T) {
	c := startCluster(t)
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		var silences []time.Duration
		failed := 0
		for round := range *failovers {
			c.awaitWhole()
			leader := c.leader()
			at := c.applied(leader)
			await(t, "all to have what the leader has", func() bool {
				return !slices.ContainsFunc(c.names, func(name string) bool { return c.applied(c.nodes[name]) < at })
			})
			var stopped atomic.Bool
			var running sync.WaitGroup
			var probes []*probe
			for _, name := range c.names {
				if name != leader.name {
					p := &probe{last: time.Now()}
					probes = append(probes, p)
					running.Go(func() { p.run(c.nodes[name].Address, &stopped) })
				}
			}
			await(t, "answers before the leader goes", func() bool { return probes[0].answers() > 100 && probes[1].answers() > 100 })
			for _, p := range probes {
				p.begin()
			}
			if err := leader.End(how); err != nil {
				t.Error(err)
			}
			await(t, "answers after the leader has gone", func() bool { return probes[0].answers() > 200 && probes[1].answers() > 200 })
			stopped.Store(true)
			running.Wait()
			silences = append(silences, max(probes[0].longest, probes[1].longest))
			for _, err := range slices.Concat(probes[0].failed, probes[1].failed) {
				failed++
				if how == syscall.SIGTERM {
					t.Logf("round %d, %v without answers: a request failed with %v", round, silences[round], err)
				}
			}
			leader.Start(t)
		}
		slices.SortFunc(silences, cmp.Compare)
		rank := func(share float64) time.Duration {
			return silences[min(len(silences)-1, int(share*float64(len(silences))))].Round(time.Millisecond)
		}
		t.Logf("the leader ended by %v %d times: without answers at the others for %v at the median, %v at p90, %v at p99, %v at most; %d requests failed",
			how, len(silences), rank(0.5), rank(0.9), rank(0.99), rank(1), failed)
	}
}

func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	testwait.Until(t, what, so)
}

// Nodes that are restarted in turn, as for a new version, fail at most one request in ten thousand of clients that wait
// for their answers and look whether their connection is still open before they ask again, as pools do.
func TestRollingRestart(t *testing.T) {
	c := startCluster(t, "--cluster-heartbeat", "1s") // handing over does not wait for it, and a busy machine elects nobody else
	w := &world{processes: c}
	l := startLoad(c, *seed)
	for _, name := range c.names {
		w.awaitWork(&l.answered, 10_000)
		w.terminate(c.nodes[name])
		c.nodes[name].Start(t)
		c.awaitAll()
		c.awaitWhole()
	}
	w.awaitWork(&l.answered, 10_000)
	l.stop()
	failed := l.refused.Load() + l.unknown.Load() - l.broken.Load()
	t.Logf("%d requests decided; %d refused, %d uncertain, %d on connections that were closed", l.answered.Load(), l.refused.Load(), l.unknown.Load()-l.broken.Load(), l.broken.Load())
	if failed*10_000 > l.answered.Load() {
		t.Errorf("%d requests of %d failed, more than one in ten thousand", failed, l.answered.Load())
	}
	if l.broken.Load() >= clients { // a busy machine may stop a few clients between that look and their request
		t.Errorf("%d requests were sent to connections that were closed", l.broken.Load())
	}
	l.checkSums(t)
	checkHistory(t, l.history)
}

// A node that was away while the others decided has caught up soon after it is back.
func TestRejoin(t *testing.T) {
	c := startCluster(t)
	away := c.notLeader()
	_ = away.End(syscall.SIGTERM)
	leader := c.leader()
	var decided atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for seed := uint64(i); decided.Load() < *missed && !t.Failed(); seed += 8 {
				if err := decideMany(leader, rand.New(rand.NewPCG(seed, 0)), &decided); err != nil && !isUncertain(err) && !isRefused(err) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	index := c.applied(c.leader())
	began := time.Now()
	away.Start(t)
	await(t, "the node to catch up", func() bool { return c.applied(away) >= index })
	t.Logf("a node that missed %d decisions had them all %v after it was started", decided.Load(), time.Since(began).Round(time.Millisecond))
	c.awaitAll()
	for i := range 50 {
		key := fmt.Sprint("rejoin:", i)
		await(t, "the node to hold what the leader does for "+key, func() bool { return c.state(away, key) == c.state(c.leader(), key) })
	}
}

// decideMany has a node grant tokens, many in a pipeline, until one is not, and counts them.
func decideMany(n *node, r *rand.Rand, decided *atomic.Int64) error {
	c, err := dial(n.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	commands := make([][]string, 500)
	for decided.Load() < *missed {
		for i := range commands {
			commands[i] = []string{"TB.ACQUIRE", "rejoin:" + strconv.Itoa(r.IntN(100_000)), "30000", "1/1d"}
		}
		if err := c.send(commands...); err != nil {
			return err
		}
		for range commands {
			if _, err := readReply(c.in); err != nil {
				return err
			}
			decided.Add(1)
		}
	}
	return nil
}

// applied is how far in the log a node is, -1 if it does not say.
func (c *processes) applied(n *node) int64 {
	r, err := ask(n.Address, "RAFT", "INFO")
	at, atErr := strconv.ParseInt(r.field("applied_index"), 10, 64)
	if err != nil || atErr != nil {
		return -1
	}
	return at
}
