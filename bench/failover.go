package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	burstClients = 32
	burstKeys    = 20
	burstLimit   = 1000 // requests on each key; none comes back during a round
	killAfter    = burstKeys * burstLimit / 2
	// burstPause is a client's pause between requests, so that the burst is not over before the kill.
	burstPause = time.Millisecond
	// patience bounds the time of a round after the kill: if its election fails, Sentinel waits six minutes before the
	// next, twice its failover-timeout.
	patience = 8 * time.Minute
)

// The metrics of a kill.
const (
	beyond  = "requests admitted beyond the limits"
	silence = "seconds without an answer to any client, the longest after the kill"
)

// ledger records the answers to clients.
type ledger struct {
	admitted [burstKeys]atomic.Int64
	total    atomic.Int64
	full     [burstKeys]atomic.Bool // a request was denied after the new primary's first answer

	mu      sync.Mutex
	killed  time.Time // zero before
	last    time.Time // answer, or the kill
	silence time.Duration
}

// answered notes an answer to a request sent at a time.
func (l *ledger) answered(key int, sent time.Time, admitted bool) {
	if admitted {
		l.admitted[key].Add(1)
		l.total.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.killed.IsZero() && now.After(l.last) {
		l.silence = max(l.silence, now.Sub(l.last))
	}
	l.last = now
	if !admitted && !l.killed.IsZero() && sent.After(l.killed) {
		l.full[key].Store(true)
	}
}

func (l *ledger) allFull() bool {
	for i := range l.full {
		if !l.full[i].Load() {
			return false
		}
	}
	return true
}

// burst sends requests from clients at their pace, kills the primary half-way, and continues until the new primary has
// denied a request on every key: by then it has granted every token that it had left.
func burst(ctx context.Context, c cluster) (admittedBeyond int, longest time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		l       ledger
		running sync.WaitGroup
	)
	defer running.Wait()
	defer cancel()
	for i := range burstClients {
		a, err := c.connect(i)
		if err != nil {
			return 0, 0, err
		}
		running.Go(func() {
			defer a.close()
			l.client(ctx, a, rand.New(rand.NewPCG(uint64(i), 0)))
		})
	}
	if err := await(ctx, time.Minute, "the first requests of the burst", func() bool { return l.total.Load() >= killAfter }); err != nil {
		return 0, 0, err
	}
	if err := c.killPrimary(ctx); err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	l.killed = time.Now()
	l.last = l.killed
	l.mu.Unlock()
	if err := await(ctx, patience, "all limits to be reached after the kill", l.allFull); err != nil {
		return 0, 0, err
	}
	cancel()
	running.Wait()
	for i := range l.admitted {
		admittedBeyond += max(0, int(l.admitted[i].Load())-burstLimit)
	}
	return admittedBeyond, l.silence, nil
}

func (l *ledger) client(ctx context.Context, a asker, r *rand.Rand) {
	for ctx.Err() == nil {
		key := r.IntN(burstKeys)
		sent := time.Now()
		admitted, err := a.ask(ctx, fmt.Sprint("key:", key))
		if err == nil {
			l.answered(key, sent, admitted)
		}
		select {
		case <-time.After(burstPause):
		case <-ctx.Done():
		}
	}
}

// await waits until a condition holds.
func await(ctx context.Context, atMost time.Duration, what string, so func() bool) error {
	for deadline := time.Now().Add(atMost); !so(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for %s", atMost, what)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// A cluster is running servers, of which a primary decides.
type cluster interface {
	// connect returns one client's connection.
	connect(client int) (asker, error)
	// killPrimary kills the deciding server with SIGKILL.
	killPrimary(ctx context.Context) error
	Stop()
}

// An asker asks whether one request may pass. An error means that there was no answer.
type asker interface {
	ask(ctx context.Context, key string) (admitted bool, err error)
	close()
}

// A clusterKind is a row of the table.
type clusterKind struct {
	title string // Key.Series
	start func(ctx context.Context, e Env) (cluster, error)
}

// clusterKinds are the clusters that are measured; the last takes half a minute for each kill, so -quick leaves it out.
func clusterKinds(e Env) []clusterKind {
	all := []clusterKind{
		{"Stint, three nodes", startStintCluster},
		{"Redis and Sentinel, down-after 1 s", startSentinel(1000)},
		{"Redis and Sentinel, down-after 30 s (Debian's default)", startSentinel(30_000)},
	}
	if e.Quick {
		return all[:2]
	}
	return all
}

// measureFailover kills the primary of each kind of cluster once a round, in the middle of a burst, each time in a new
// cluster.
func measureFailover(ctx context.Context, e Env, f Figures) error {
	if _, err := exec.LookPath("redis-sentinel"); err != nil {
		return fmt.Errorf("%w; on Debian and Ubuntu: apt-get install redis-sentinel", err)
	}
	redis.SetLogger(quiet{})
	return e.rounds(1, "the primary killed in a burst", func(int) error {
		for _, kind := range clusterKinds(e) {
			c, err := kind.start(ctx, e)
			if err != nil {
				return fmt.Errorf("%s: %w", kind.title, err)
			}
			admittedBeyond, longest, err := burst(ctx, c)
			c.Stop()
			if err != nil {
				return fmt.Errorf("%s: %w", kind.title, err)
			}
			f.add(kind.title, "", beyond, float64(admittedBeyond))
			f.add(kind.title, "", silence, longest.Seconds())
		}
		return nil
	})
}

// quiet drops the log of the client library: its errors are answers that are missing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func failoverTables(e Env, f Figures) []Table {
	var lines []line
	for _, kind := range clusterKinds(e) {
		lines = append(lines, line{[]string{kind.title}, kind.title, ""})
	}
	return []Table{f.table("The primary killed in the middle of a burst",
		fmt.Sprintf("%d clients, %d keys of %d requests each, the primary killed after %d of them.", burstClients, burstKeys, burstLimit, killAfter),
		[]string{"system"}, lines,
		summary("kills", beyond, formatCount, number),
		summary("admitted beyond the limit", beyond, formatCount, sum), summary("rounds with any", beyond, formatCount, countAboveZero), summary("most in one", beyond, formatCount, most),
		summary("seconds without answers: median", silence, formatFigure, median), summary("p99", silence, formatFigure, percentile99), summary("most", silence, formatFigure, most))}
}

// A stintCluster is three nodes, with their defaults.
type stintCluster struct{ *Instance }

func startStintCluster(ctx context.Context, e Env) (cluster, error) {
	inst, err := startNodes(e.binary, nodeSetup{options: []string{"--cluster-ahead", "1s"}})(ctx, "stint-failover", nil)
	if err != nil {
		return nil, err
	}
	c := stintCluster{inst}
	return c, c.awaitDecisions(ctx)
}

// awaitDecisions waits until every node answers.
func (c stintCluster) awaitDecisions(ctx context.Context) error {
	err := await(ctx, time.Minute, "three Stint nodes to decide", func() bool {
		for _, address := range c.Nodes {
			if _, err := ask(address, "CL.THROTTLE", "warm-up", "1", "1", "60"); err != nil {
				return false
			}
		}
		return true
	})
	if err != nil {
		c.Stop()
	}
	return err
}

func (c stintCluster) killPrimary(ctx context.Context) error {
	leader, err := leaderOf(ctx, c.Nodes)
	if err == nil {
		c.processes[slices.Index(c.Nodes, leader)].kill()
	}
	return err
}

// roundRobin asks one node, and the next one when that does not answer.
type roundRobin struct {
	nodes []*redis.Client
	at    int
}

func (c stintCluster) connect(client int) (asker, error) {
	r := &roundRobin{at: client}
	for _, address := range c.Nodes {
		r.nodes = append(r.nodes, redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 1}))
	}
	return r, nil
}

func (r *roundRobin) ask(ctx context.Context, key string) (admitted bool, err error) {
	reply, err := r.nodes[r.at%len(r.nodes)].Do(ctx, "CL.THROTTLE", key, strconv.Itoa(burstLimit-1), "1", "86400").Int64Slice()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "UNCERTAIN") && !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
			r.at++
		}
		return false, err
	}
	return reply[0] == 0, nil
}

func (r *roundRobin) close() {
	for _, n := range r.nodes {
		_ = n.Close()
	}
}
