package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The load on one hot key, far below its limit, at the two nodes that survive.
const (
	hotClients   = 32
	hotPerSecond = 20_000
	hotRounds    = 10
	hotBefore    = 3 * time.Second // watched before the kill, to compare with
	hotAfter     = 3 * time.Second // watched after it; the new leader is there long before
)

var hotCommand = []any{"TB.ACQUIRE", "hot", "100000", "100000/s"}

// hotOutcome is the effect of one kill on the clients of other nodes.
type hotOutcome struct {
	before, after time.Duration // the longest time in which a node granted nothing
	granted       int
	denied        int
	failed        int // requests without an answer
}

// watch records the grants of one node.
type watch struct {
	mu      sync.Mutex
	last    time.Time     // grant, or the begin of the measurement
	longest time.Duration // between two
	hotOutcome
}

func (w *watch) answered(granted bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.failed++
	case !granted:
		w.denied++
	default:
		w.granted++
		now := time.Now()
		w.longest, w.last = max(w.longest, now.Sub(w.last)), now
	}
}

// restart returns the longest time without a grant, the present one included, and begins another measurement.
func (w *watch) restart() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	longest := max(w.longest, now.Sub(w.last))
	w.longest, w.last = 0, now
	return longest
}

// measureHot kills the leader under load on a hot key at the other nodes, each time in a new cluster, and prints the times without grants.
func measureHot(ctx context.Context, rounds int, dir string) error {
	binary, err := buildStint(ctx, dir)
	if err != nil {
		return err
	}
	var outcomes []hotOutcome
	for round := range rounds {
		o, err := hotRound(ctx, binary, filepath.Join(dir, fmt.Sprint("hot-", round)))
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		fmt.Fprintf(os.Stderr, "kill %d: %.1f ms without a grant, %.1f before; %d granted, %d denied, %d without an answer\n",
			round, milliseconds(o.after), milliseconds(o.before), o.granted, o.denied, o.failed)
		outcomes = append(outcomes, o)
	}
	fmt.Printf("\n%d clients at the two nodes that survive, %d requests a second on one key under its limit.\n\n", hotClients, hotPerSecond)
	fmt.Println("| kills | ms without a grant at a node: median | most | the same before the kill: median | most | denied | without an answer |")
	fmt.Println("|---|---|---|---|---|---|---|")
	fmt.Println(hotRow(outcomes))
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func hotRow(outcomes []hotOutcome) string {
	denied, failed := 0, 0
	var before, after []time.Duration
	for _, o := range outcomes {
		denied, failed = denied+o.denied, failed+o.failed
		before, after = append(before, o.before), append(after, o.after)
	}
	slices.SortFunc(before, cmp.Compare)
	slices.SortFunc(after, cmp.Compare)
	n := len(outcomes)
	return fmt.Sprintf("| %d | %.1f | %.1f | %.1f | %.1f | %d | %d |", n, milliseconds(after[n/2]), milliseconds(after[n-1]),
		milliseconds(before[n/2]), milliseconds(before[n-1]), denied, failed)
}

func hotRound(ctx context.Context, binary, dir string) (o hotOutcome, err error) {
	defer os.RemoveAll(dir)
	started, err := startStint(binary, "--cluster-ahead", "1s")(ctx, dir)
	if err != nil {
		return o, err
	}
	defer started.stop()
	c := started.(*stintCluster)
	leader, err := c.leader(ctx)
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var watches []*watch
	survivors := slices.Delete(slices.Clone(c.addresses), leader, leader+1)
	for _, address := range survivors {
		w := &watch{}
		watches = append(watches, w)
		for i := range hotClients / len(survivors) {
			running.Go(func() { w.client(ctx, address, i) })
		}
	}
	longest := func() (most time.Duration) {
		for _, w := range watches {
			most = max(most, w.restart())
		}
		return most
	}
	if err := pause(ctx, time.Second); err != nil { // until the nodes hold tokens
		return o, err
	}
	longest()
	if err := pause(ctx, hotBefore); err != nil {
		return o, err
	}
	o.before = longest()
	c.processes[leader].kill()
	if err := pause(ctx, hotAfter); err != nil {
		return o, err
	}
	o.after = longest()
	cancel()
	running.Wait()
	for _, w := range watches {
		o.granted, o.denied, o.failed = o.granted+w.granted, o.denied+w.denied, o.failed+w.failed
	}
	return o, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// client asks a node at its part of the rate. Requests that are late are left out.
func (w *watch) client(ctx context.Context, address string, number int) {
	const interval = hotClients * time.Second / hotPerSecond
	node := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 1})
	defer node.Close()
	due := time.Now().Add(interval * time.Duration(number) / hotClients)
	for pause(ctx, time.Until(due)) == nil {
		reply, err := node.Do(ctx, hotCommand...).Int64Slice()
		if errors.Is(err, context.Canceled) {
			return
		}
		w.answered(err == nil && reply[0] == 1, err)
		if due = due.Add(interval); due.Before(time.Now()) {
			due = time.Now()
		}
	}
}
