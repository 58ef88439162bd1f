//go:build e2e

package realtest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stintdb/stint/internal/testwait"
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

// tear cuts off the end of a node's log, or of one or both copies of its votes, like a file system whose disk lied about a sync.
func (w *world) tear(n *node) {
	files, err := filepath.Glob(filepath.Join(n.dir, "log", "log-*.stint"))
	bolt, boltErr := filepath.Glob(filepath.Join(n.dir, "log", "log.bolt"))
	if files = append(files, bolt...); err != nil || boltErr != nil || len(files) == 0 {
		w.t.Fatalf("no log in %s: %v, %v", n.dir, err, boltErr)
	}
	n.torn = append(files, filepath.Join(n.dir, "votes-1.bolt"))[w.r.IntN(len(files)+1)]
	info, err := os.Stat(n.torn)
	if err != nil {
		w.t.Fatal(err)
	}
	size := w.r.Int64N(info.Size())
	err = os.Truncate(n.torn, size)
	if copied := strings.Replace(n.torn, "votes-1", "votes-2", 1); err == nil && w.r.IntN(2) == 0 {
		err = os.Truncate(copied, min(size, 8<<10))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// startTorn starts a node after tear. It may find that nothing was lost, or must report the damage and end:
// then it is started without its directory.
func (w *world) startTorn(n *node) {
	n.Start(w.t)
	hasEnded := func() bool { is, _ := n.Running(); return !is }
	testwait.Until(w.t, n.name+" serves or ends", func() bool { return canReach(n.Address) || hasEnded() })
	if _, state := n.Running(); hasEnded() {
		last := n.LastLines()
		if state.ExitCode() != 1 || !strings.Contains(last, filepath.Base(n.torn)) || strings.Contains(last, "goroutine ") {
			w.t.Errorf("%s ended with %v on a log that was cut off, and said:\n%s", n.name, state, last)
		}
		w.wipe(n)
		n.Start(w.t)
	}
}
