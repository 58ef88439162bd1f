package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// warnedWindow is a window of a key. Limits without windows have 0, and a different key in each span of that length.
type warnedWindow struct {
	key   string
	start int64
}

// name returns the name of the limit.
func (w warnedWindow) name() string {
	name, _, _ := strings.Cut(w.key, ":")
	return name
}

// warnLedger has the warnings of every process, and what clients were granted.
type warnLedger struct {
	mu        sync.Mutex
	processes []map[warnedWindow]engine.Warning
	errs      []error

	granted  map[warnedWindow]int64 // answered 5 seconds before the end of the window
	possible map[warnedWindow]int64 // all that may have been granted in it
	holders  atomic.Int64           // of leases, each asked for once
}

const (
	warnWindow   = 20 * time.Second
	warnCapacity = 100
)

var warnLimits = map[string]limits.Limit{
	"busy": {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: warnCapacity,
		Rate: limits.Rate{Period: int64(warnWindow)}, Warn: 80},
	"seldom": {Algorithm: limits.FixedWindow, Span: limits.Aligned, Capacity: warnCapacity,
		Rate: limits.Rate{Period: int64(warnWindow)}, Warn: 50},
	// The leader takes tokens of it in its memory.
	"first": {Algorithm: limits.FixedWindow, Capacity: warnCapacity, Rate: limits.Rate{Period: int64(4 * time.Second)},
		Warn: 20},
	"slides": {Algorithm: limits.SlidingWindow, Capacity: warnCapacity, Rate: limits.Rate{Period: int64(warnWindow)},
		Warn: 90},
	// Nothing of these comes back in the test, so a key warns once.
	"gcra": {Algorithm: limits.GCRA, Capacity: 40, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}, Warn: 50},
	"queue": {Algorithm: limits.LeakyQueue, Capacity: 40, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)},
		Warn: 75},
	"log":    {Algorithm: limits.SlidingLog, Capacity: 40, Rate: limits.Rate{Period: int64(time.Hour)}, Warn: 50},
	"cut":    {Algorithm: limits.SlidingSegments, Segments: 20, Capacity: 40, Rate: limits.Rate{Period: int64(time.Hour)}, Warn: 50},
	"places": {Algorithm: limits.Concurrency, Capacity: 40, Rate: limits.Rate{Period: int64(time.Hour)}, Warn: 25},
}

// withoutWindows are the limits without windows.
var withoutWindows = []string{"gcra", "queue", "log", "cut", "places"}

// begin returns the function that takes the warnings of a process that starts.
func (l *warnLedger) begin() func(w *engine.Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := map[warnedWindow]engine.Warning{}
	l.processes = append(l.processes, own)
	return func(w *engine.Warning) {
		l.mu.Lock()
		defer l.mu.Unlock()
		at := warnedWindow{string(w.Key), w.Start}
		if before, is := own[at]; is {
			l.errs = append(l.errs, fmt.Errorf("a process warns twice of %v: used %d at %d, and %d at %d", at, before.Used,
				before.At, w.Used, w.At))
		}
		own[at] = engine.Warning{Limit: w.Limit, Used: w.Used, At: w.At, Start: w.Start, End: w.End}
		if w.Used < w.Limit.WarnAt() {
			l.errs = append(l.errs, fmt.Errorf("warned of %v at %d of %d", at, w.Used, w.Limit.WarnAt()))
		}
	}
}

// ask takes tokens of a limit, and notes them.
func (l *warnLedger) ask(n *Node, name string, tokens int64) {
	asked := time.Now()
	windowAt := func(at time.Time) warnedWindow { return warnedWindow{name, at.Truncate(warnWindow).UnixNano()} }
	if slices.Contains(withoutWindows, name) {
		key := fmt.Sprintf("%s:%d", name, windowAt(asked).start)
		windowAt = func(time.Time) warnedWindow { return warnedWindow{key, 0} }
	}
	op := engine.Op{Verb: engine.Acquire, Key: []byte(windowAt(asked).key), Limit: warnLimits[name], Tokens: tokens}
	if name == "places" {
		op.Who = fmt.Append(nil, l.holders.Add(1))
	}
	res := do(n, op)[0]
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := windowAt(asked); res.Status == engine.OK && res.Allowed && windowAt(now.Add(5*time.Second)) == at {
		l.granted[at] += tokens
	}
	if res.Status == engine.Uncertain || res.Allowed {
		l.possible[windowAt(asked)] += tokens
		if windowAt(now.Add(time.Second)) != windowAt(asked) {
			l.possible[windowAt(now.Add(time.Second))] += tokens
		}
	}
}

// check checks that all processes have warned of the same windows at the same times, and of every window that they had
// to warn of.
func (l *warnLedger) check(t *testing.T) (warned int) {
	for _, err := range l.errs {
		t.Error(err)
	}
	all := map[warnedWindow]engine.Warning{}
	for _, own := range l.processes {
		for at, w := range own {
			if before, is := all[at]; is && before.ID() != w.ID() || is && (before.At != w.At || before.Used != w.Used) {
				t.Errorf("two processes warn of %v differently: %+v and %+v", at, before, w)
			}
			all[at] = w
		}
	}
	for at, tokens := range l.granted {
		limit := warnLimits[at.name()]
		if at.key == "busy" {
			limit.Warn = 100 // nodes hold the rest
		}
		if _, is := all[at]; !is && at.key != "first" && at.key != "slides" && tokens >= limit.WarnAt() {
			t.Errorf("%d tokens were granted of %v without a warning", tokens, at)
		}
	}
	seen := map[string]int{}
	for at := range all {
		seen[at.name()]++
		limit := warnLimits[at.name()]
		if tokens := l.possible[at]; (at.key == "seldom" || at.start == 0) && tokens < limit.WarnAt() {
			t.Errorf("there is a warning of %v, of which %d tokens at most were granted", at, tokens)
		}
	}
	for _, name := range withoutWindows {
		if seen[name] < 3 {
			t.Errorf("%d keys of %s warned", seen[name], name)
		}
	}
	return len(all)
}

// A cluster warns once of a window, whatever happens to its leaders and nodes: by the same entry of the log everywhere,
// also where nodes hold tokens and leaders take them in their memory. A process that starts again hears once more of
// the entries that it reads again.
func TestWarnsOnceOverFailovers(t *testing.T) {
	const perCluster = 40
	for round := 0; round < 1+*simFaults/1000 && !t.Failed(); round++ {
		seed := *simSeed + uint64(round)
		synctest.Test(t, func(t *testing.T) {
			l := &warnLedger{granted: map[warnedWindow]int64{}, possible: map[warnedWindow]int64{}}
			s := simulateWith(t, func(s *simulated) { s.warnings = l.begin }, "a", "b", "c")
			w := &world{simulated: s, r: rand.New(rand.NewPCG(seed, 38)), began: time.Now()}
			defer w.stop()
			w.hold(100 * time.Millisecond)
			w.sharing.Store(true)
			w.leader()
			for i := range 6 {
				w.clients.Go(func() { w.warnClient(l, rand.New(rand.NewPCG(seed, uint64(i)))) })
			}
			for range perCluster {
				name := []string{"kill", "stop in order", "partition", "pause", "transfer", "power loss"}[w.r.IntN(6)]
				mend := faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })].strike(w)
				time.Sleep(time.Duration(400+w.r.IntN(600)) * time.Millisecond)
				mend()
				time.Sleep(time.Duration(w.r.IntN(8000)) * time.Millisecond)
				w.leader()
			}
			w.stopped.Store(true)
			w.clients.Wait()
			time.Sleep(2 * time.Second)
			l.mu.Lock()
			defer l.mu.Unlock()
			warned := l.check(t)
			t.Logf("seed %d: %d windows warned, %d processes", seed, warned, len(l.processes))
			if warned < 20 {
				t.Errorf("seed %d: only %d windows warned", seed, warned)
			}
		})
	}
}

func (w *world) warnClient(l *warnLedger, r *rand.Rand) {
	for !w.stopped.Load() {
		w.mu.RLock()
		n := w.nodes[w.names[r.IntN(len(w.names))]]
		w.mu.RUnlock()
		if n == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		switch r.IntN(14) {
		case 0, 1:
			l.ask(n, "seldom", 1+r.Int64N(2))
			time.Sleep(300 * time.Millisecond)
		case 2:
			l.ask(n, "first", 1)
		case 3:
			l.ask(n, "slides", 1+r.Int64N(6))
		case 4, 5, 6, 7:
			l.ask(n, withoutWindows[r.IntN(len(withoutWindows))], 1)
		default:
			l.ask(n, "busy", 1)
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	}
}
