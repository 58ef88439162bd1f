//go:build e2e

package realtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

var (
	faultsFor = flag.Duration("for", 10*time.Second, "how long nodes go through faults; hours every night")
	seed      = flag.Uint64("seed", testsize.Seed(), "seed of the faults and the load; processes are still scheduled as they come")
	least     = flag.Int64("least", 2000, "requests that have to be decided meanwhile; up to three times as long is taken for them")
)

// Whatever happens to nodes and links, what clients see could have come from one limiter.
func TestFaults(t *testing.T) {
	t.Logf("seed %d", *seed)
	w := &world{startCluster(t), rand.New(rand.NewPCG(*seed, 0))}
	l, reserved := startLoad(w.processes, *seed), startReservers(w.processes, *seed)
	struck := w.suffer(&l.answered, 0, *faultsFor, *least)
	await(t, "every outcome of requests with an id", reserved.sawAll)
	took := time.Since(l.began)
	l.stop()
	reserved.stop()
	t.Logf("%v: %s", took.Round(time.Second), struck)
	t.Logf("%d requests decided, %d refused, %d of unknown outcome", l.answered.Load(), l.refused.Load(), l.unknown.Load())
	l.checkSums(t)
	l.checkRate(t)
	checkHistory(t, l.history)
	w.compare(l)
	reserved.check(t)
	if l.answered.Load() < *least {
		t.Errorf("%d requests were decided, too few to show anything: at least %d", l.answered.Load(), *least)
	}
}

// suffer has the cluster go through faults for some time, or up to three times as long until enough requests are decided, and mends
// everything. It rests between faults. It returns the number of each fault.
func (w *world) suffer(answered *atomic.Int64, rest, span time.Duration, least int64) string {
	began, struck, order := time.Now(), map[string]int{}, []int{}
	for !w.t.Failed() && (time.Since(began) < span || answered.Load() < least && time.Since(began) < 3*span) {
		w.awaitAll(startTimeout)
		time.Sleep(rest)
		w.awaitWork(answered, 300)
		if len(order) == 0 { // each once before the first comes again
			order = w.r.Perm(len(faults))
		}
		f := faults[order[0]]
		order = order[1:]
		struck[f.name]++
		at := time.Since(began)
		mend := f.strike(w)
		time.Sleep(time.Duration(100+w.r.IntN(1500)) * time.Millisecond)
		mend()
		w.t.Logf("%v: %s, mended at %v", at.Round(time.Millisecond), f.name, time.Since(began).Round(time.Millisecond))
	}
	w.net.mend()
	w.awaitAll(startTimeout)
	w.awaitWork(answered, 300)
	var names []string
	for name, n := range struck {
		names = append(names, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// awaitWork waits until n more requests were decided: a fault without requests in flight shows nothing.
func (w *world) awaitWork(answered *atomic.Int64, more int64) {
	w.t.Helper()
	before := answered.Load()
	for deadline := time.Now().Add(startTimeout); answered.Load() < before+more; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d requests decided within %v of the last mending", answered.Load()-before, startTimeout)
		}
	}
}

// compare holds the state of each node, read from itself, against the leader's.
func (w *world) compare(l *load) {
	w.t.Helper()
	w.awaitWhole()
	last := l.now() / int64(generationTime)
	for at := 0; at < keysAtOnce; at += 5 {
		for generation := last - 1; generation <= last; generation++ {
			key := fmt.Sprintf("%d:%d", generation, at)
			want := w.state(w.leader(), key)
			for _, name := range w.names {
				got := ""
				for deadline := time.Now().Add(startTimeout); got != want && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
					got = w.state(w.nodes[name], key)
				}
				if got != want {
					w.t.Errorf("%s has %s for %s, and the leader %s", name, got, key, want)
				}
			}
		}
	}
}

// state is a node's own state of a key.
func (c *processes) state(n *node, key string) string {
	conn, err := dial(n.Address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if err := conn.send([]string{"READONLY"}, []string{"TB.ACQUIRE", key, "100", "1/1d", "1", "PEEK"}); err != nil {
		return err.Error()
	}
	if _, err := readReply(conn.in); err != nil {
		return err.Error()
	}
	r, err := readReply(conn.in)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(r.items[:3])
}
