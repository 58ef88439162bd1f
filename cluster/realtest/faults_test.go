//go:build e2e

package realtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	faultsFor = flag.Duration("for", 10*time.Second, "how long nodes go through faults; hours every night")
	seed      = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the faults and the load; processes are still scheduled as they come")
	least     = flag.Int64("least", 2000, "requests that have to be decided meanwhile; up to three times as long is taken for them")
)

// fault is something that goes wrong. Its mending brings back all but what awaitWhole and awaitAll wait for.
type fault struct {
	name   string
	strike func(w *world) (mend func())
}

// world is a cluster that things happen to.
type world struct {
	*processes
	r *rand.Rand
}

// some returns a node: the leader, most often.
func (w *world) some() *node {
	if w.r.IntN(4) > 0 {
		return w.leader()
	}
	return w.nodes[w.names[w.r.IntN(len(w.names))]]
}

// notLeader returns a node that does not lead.
func (c *processes) notLeader() *node {
	leader := c.leader()
	for _, name := range c.names {
		if name != leader.name {
			return c.nodes[name]
		}
	}
	return nil
}

// links calls change for all links from a node, to it, or both.
func (w *world) links(n *node, from, to bool, change func(*link)) {
	for ends, l := range w.net {
		if from && ends[0] == n.name || to && ends[1] == n.name {
			change(l)
		}
	}
}

func cut(l *link) { l.cut.Store(true) }

func (w *world) cutLinks(n *node, from, to bool) (mend func()) {
	w.links(n, from, to, cut)
	return w.net.mend
}

func (w *world) kill(n *node) { _ = n.End(syscall.SIGKILL) }

func (w *world) startAgain(n *node) func() { return func() { n.Start(w.t) } }

// terminate ends a node in order, which has to work whatever state it is in.
func (w *world) terminate(n *node) {
	if err := n.End(syscall.SIGTERM); err != nil {
		w.t.Error(err)
	} else if _, state := n.Running(); !state.Success() {
		w.t.Errorf("%s ended with %v after SIGTERM", n.name, state)
	}
}

var faults = []fault{
	{"kill", func(w *world) func() {
		n := w.some()
		w.kill(n)
		return w.startAgain(n)
	}},
	{"terminate", func(w *world) func() {
		n := w.some()
		w.terminate(n)
		return w.startAgain(n)
	}},
	{"stop", func(w *world) func() {
		n := w.some()
		n.pause()
		return n.resume
	}},
	{"partition", func(w *world) func() { return w.cutLinks(w.some(), true, true) }},
	{"deaf", func(w *world) func() { return w.cutLinks(w.some(), false, true) }},
	{"mute", func(w *world) func() { return w.cutLinks(w.some(), true, false) }},
	{"two cannot reach each other", func(w *world) func() {
		one, other := w.leader().name, w.some().name
		if one == other {
			return func() {}
		}
		cut(w.net[[2]string{one, other}])
		cut(w.net[[2]string{other, one}])
		return w.net.mend
	}},
	{"no two can reach each other", func(w *world) func() {
		for _, l := range w.net {
			cut(l)
		}
		return w.net.mend
	}},
	{"delay", func(w *world) func() {
		delay := 1 + w.r.Int64N(60)
		w.links(w.some(), true, true, func(l *link) { l.delay.Store(delay * int64(time.Millisecond)) })
		return w.net.mend
	}},
	{"throttle", func(w *world) func() {
		w.links(w.some(), true, true, func(l *link) { l.bytesPerSecond.Store(64 << 10) })
		return w.net.mend
	}},
	{"power lost", func(w *world) func() { // the others get no notice that the node's connections have ended
		n := w.some()
		mend := w.cutLinks(n, true, true)
		w.kill(n)
		return func() { w.startAgain(n)(); mend() }
	}},
	{"all killed", func(w *world) func() {
		for _, i := range w.r.Perm(len(w.names)) {
			w.kill(w.nodes[w.names[i]])
		}
		return func() {
			for _, i := range w.r.Perm(len(w.names)) {
				w.startAgain(w.nodes[w.names[i]])()
			}
		}
	}},
	{"wipe", func(w *world) func() {
		w.awaitWhole()
		n := w.some()
		w.kill(n)
		w.wipe(n)
		return w.startAgain(n)
	}},
	{"torn log", func(w *world) func() {
		w.awaitWhole()
		n := w.some()
		w.kill(n)
		w.tear(n)
		return func() { w.startTorn(n) }
	}},
	{"transfer", func(w *world) func() {
		_, _ = ask(w.leader().Address, "RAFT", "TRANSFER") // nobody may take it, which is an answer too
		return func() {}
	}},
}

func (w *world) wipe(n *node) {
	if err := os.RemoveAll(n.dir); err != nil {
		w.t.Fatal(err)
	}
}

// tear cuts off the end of a node's log, or of its votes, like a file system whose disk lied about a sync.
func (w *world) tear(n *node) {
	files, err := filepath.Glob(filepath.Join(n.dir, "log", "log-*.stint"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("no log in %s: %v", n.dir, err)
	}
	n.torn = append(files, filepath.Join(n.dir, "votes.stint"))[w.r.IntN(len(files)+1)]
	info, err := os.Stat(n.torn)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.Truncate(n.torn, w.r.Int64N(info.Size())); err != nil {
		w.t.Fatal(err)
	}
}

// startTorn starts a node after tear. It may find that nothing was lost, or must report the damage and end:
// then it is started without its directory.
func (w *world) startTorn(n *node) {
	n.Start(w.t)
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if canReach(n.Address) {
			return
		}
		if is, state := n.Running(); !is {
			last := n.LastLines()
			if state.ExitCode() != 1 || !strings.Contains(last, filepath.Base(n.torn)) || strings.Contains(last, "goroutine ") {
				w.t.Errorf("%s ended with %v on a log that was cut off, and said:\n%s", n.name, state, last)
			}
			w.wipe(n)
			n.Start(w.t)
			return
		}
	}
	w.t.Errorf("%s neither serves nor ends", n.name)
}

// Whatever happens to nodes and links, what clients see could have come from one limiter.
func TestFaults(t *testing.T) {
	t.Logf("seed %d", *seed)
	w := &world{startCluster(t), rand.New(rand.NewPCG(*seed, 0))}
	l, reserved := startLoad(w.processes, *seed), startReservers(w.processes, *seed)
	struck, order := map[string]int{}, []int{}
	for !t.Failed() && (time.Since(l.began) < *faultsFor || l.answered.Load() < *least && time.Since(l.began) < 3**faultsFor) {
		w.awaitAll(startTimeout)
		w.awaitWork(l, 300)
		if len(order) == 0 { // each once before the first comes again
			order = w.r.Perm(len(faults))
		}
		f := faults[order[0]]
		order = order[1:]
		struck[f.name]++
		began := time.Since(l.began)
		mend := f.strike(w)
		time.Sleep(time.Duration(100+w.r.IntN(1500)) * time.Millisecond)
		mend()
		t.Logf("%v: %s, mended at %v", began.Round(time.Millisecond), f.name, time.Since(l.began).Round(time.Millisecond))
	}
	w.net.mend()
	w.awaitAll(startTimeout)
	w.awaitWork(l, 300)
	await(t, "every outcome of requests with an id", reserved.sawAll)
	took := time.Since(l.began)
	l.stop()
	reserved.stop()
	var names []string
	for name, n := range struck {
		names = append(names, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(names)
	t.Logf("%v: %s", took.Round(time.Second), strings.Join(names, ", "))
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

// awaitWork waits until n more requests were decided: a fault without requests in flight shows nothing.
func (w *world) awaitWork(l *load, more int64) {
	w.t.Helper()
	before := l.answered.Load()
	for deadline := time.Now().Add(startTimeout); l.answered.Load() < before+more; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d requests decided within %v of the last mending", l.answered.Load()-before, startTimeout)
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
