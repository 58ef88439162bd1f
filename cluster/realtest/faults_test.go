//go:build e2e

package realtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
)

var (
	strikes  = flag.Int("faults", 8, "faults that nodes go through, and a quarter of it while they hold tokens; thousands every night")
	requests = flag.Int64("requests", 20_000, "requests that are decided meanwhile at least, and a quarter of it while nodes hold tokens")
	seed     = flag.Uint64("seed", testsize.Seed(), "seed of the faults and the load; processes are still scheduled as they come")
)

// Whatever happens to nodes and links, what clients see could have come from one limiter. The test is over when enough faults
// have struck and enough requests were decided, however long that takes.
func TestFaults(t *testing.T) {
	t.Logf("seed %d", *seed)
	boltdb := map[string][]string{"c": {"--cluster-log", "boltdb"}}
	w := &world{startClusterOf(t, 3, boltdb), rand.New(rand.NewPCG(*seed, 0))}
	l, reserved := startLoad(w.processes, *seed), startReservers(w.processes, *seed)
	struck := w.suffer(&l.answered, 0, *strikes, *requests)
	await(t, "every outcome of requests with an id", reserved.sawAll)
	took := time.Since(l.began)
	l.stop()
	reserved.stop()
	t.Logf("%v: %s", took.Round(time.Second), struck)
	t.Logf("%d requests decided, %.0f a second, %d refused, %d of unknown outcome", l.answered.Load(), float64(l.answered.Load())/took.Seconds(), l.refused.Load(), l.unknown.Load())
	l.checkSums(t)
	l.checkRate(t)
	checkHistory(t, l.history)
	w.compare(l)
	reserved.check(t)
}

// With four groups of keys, each key's history is that of one limiter too, and leaders changed.
func TestFaultsInGroups(t *testing.T) { faultsInGroups(t, 3, 0) }

// The same with three replicas of each group on five nodes.
func TestFaultsWithReplicas(t *testing.T) { faultsInGroups(t, 5, 3) }

func faultsInGroups(t *testing.T, nodes, replicas int) {
	w := &world{startClusterOf(t, nodes, nil, "--groups", "4", "--cluster-replicas", strconv.Itoa(replicas)), rand.New(rand.NewPCG(*seed, 3))}
	if replicas > 0 {
		w.replicas = replicas
	}
	l := startLoad(w.processes, *seed)
	struck := w.suffer(&l.answered, 0, max(3, *strikes/4), *requests/4)
	l.stop()
	t.Logf("%s; %d requests decided, %d refused, %d of unknown outcome", struck, l.answered.Load(), l.refused.Load(), l.unknown.Load())
	w.awaitWhole() // a node that leads one group may not have joined another one yet
	leader := w.leader()
	groups, err := ask(leader.Address, "RAFT", "GROUPS")
	if err != nil || len(groups.items) != 4 {
		t.Fatalf("%+v, %v", groups, err)
	}
	changes := 0
	for _, g := range groups.items {
		term, err := strconv.Atoi(g.field("term"))
		if err != nil || term == 0 {
			t.Errorf("group %s has the term %q, at %s: %v", g.field("group"), g.field("term"), leader.Address, err)
		}
		changes += term - 1
	}
	if changes == 0 {
		t.Error("no leader changed")
	}
	l.checkSums(t)
	l.checkRate(t)
	checkHistory(t, l.history)
	w.compare(l)
}

// suffer has the cluster go through a number of faults, and mends everything. Before each fault it rests, and waits for its share
// of the requests to be decided. It returns the number of each fault.
func (w *world) suffer(answered *atomic.Int64, rest time.Duration, count int, requests int64) string {
	began, before, struck, order := time.Now(), answered.Load(), map[string]int{}, []int{}
	for n := 0; n < count && !w.t.Failed(); n++ {
		w.awaitAll()
		time.Sleep(rest)
		w.awaitWork(answered, max(300, before+requests*int64(n)/int64(count)-answered.Load()))
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
	w.awaitAll()
	w.awaitWork(answered, max(300, before+requests-answered.Load()))
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
	for before, asked := answered.Load(), min(more, 300); more > 0; more, before = more-asked, answered.Load() { // each part has its time
		testwait.Until(w.t, fmt.Sprintf("%d more requests are decided", asked), func() bool { return answered.Load() >= before+asked })
	}
}

// compare holds the state of each node, read from itself, against the leader's.
func (w *world) compare(l *load) {
	w.t.Helper()
	w.awaitWhole()
	last := l.generation()
	for at := 0; at < keysAtOnce; at += 5 {
		for generation := last - 1; generation <= last; generation++ {
			key := fmt.Sprintf("%d:%d", generation, at)
			want := w.state(w.leader(), key)
			for _, name := range w.names {
				testwait.UntilNil(w.t, name+" has what the leader has for "+key, func() error {
					if got := w.state(w.nodes[name], key); got != want {
						return fmt.Errorf("it has %s, and the leader %s", got, want)
					}
					return nil
				})
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
