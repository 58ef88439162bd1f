package cluster

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testwatch"
	"github.com/stintdb/stint/server/transcripttest"
)

// watcher is a connection that sends each request to a random node.
type watcher struct {
	w      *world
	r      *rand.Rand
	expect engine.Op
}

// decide asks for the decision of an atomic batch, a moment later.
func (c *watcher) decide(ops ...engine.Op) (results []engine.Result, o testwatch.Outcome) {
	time.Sleep(time.Duration(c.r.IntN(60)) * time.Millisecond)
	c.w.mu.RLock()
	n := c.w.nodes[c.w.names[c.r.IntN(len(c.w.names))]]
	c.w.mu.RUnlock()
	if n == nil {
		return nil, testwatch.Refused
	}
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Atomic: true}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	defer within(time.Minute, "a call has not been answered")()
	if !decide(n, b) {
		<-done
	}
	for i := range b.Results {
		switch b.Results[i].Status {
		case engine.OK, engine.NotFound, engine.KeyChanged:
		case engine.Uncertain:
			return nil, testwatch.Unknown
		default:
			return nil, testwatch.Refused
		}
	}
	return b.Results, testwatch.Answered
}

func (c *watcher) Do(words ...string) (reply string, o testwatch.Outcome) {
	op := operation(words...)
	results, o := c.decide(op)
	return replies([]engine.Op{op}, results), o
}

func (c *watcher) Watch(keys ...string) testwatch.Outcome {
	c.expect = engine.Op{Verb: engine.Expect}
	for _, key := range keys {
		results, o := c.decide(engine.Op{Verb: engine.Fingerprint, Key: []byte(key)})
		if o != testwatch.Answered {
			return o
		}
		c.expect.Args, c.expect.KeyCount, c.expect.Who = append(c.expect.Args, []byte(key)), c.expect.KeyCount+1,
			append(c.expect.Who, results[0].Reply...)
	}
	return testwatch.Answered
}

func (c *watcher) Exec(commands [][]string) (reply string, o testwatch.Outcome) {
	ops := []engine.Op{c.expect.Clone()}
	for _, words := range commands {
		ops = append(ops, operation(words...))
	}
	results, o := c.decide(ops...)
	switch {
	case o != testwatch.Answered:
		return "", o
	case results[0].Status == engine.KeyChanged:
		return "nil[]", o
	}
	return "[" + replies(ops[1:], results[1:]) + "]", o
}

// replies returns the replies of commands, in the form in which a client reads them.
func replies(ops []engine.Op, results []engine.Result) string {
	var all []string
	for i := range results {
		if ops[i].Verb == engine.Delete {
			all = append(all, map[engine.Status]string{engine.OK: "1", engine.NotFound: "0"}[results[i].Status])
			continue
		}
		text, err := transcripttest.ReadReply(bufio.NewReader(bytes.NewReader(results[i].Reply)))
		if err != nil {
			text = err.Error()
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// Transactions of clients on all nodes are carried out if none of their watched keys has changed, and only then, while
// nodes fail and leaders change.
func TestWatchedKeysThroughFaults(t *testing.T) {
	const clients, requests, histories = 4, 9, 20
	var sum testwatch.Counts
	rounds := max(2, *simFaults/100+1) // in one there may be no unknown outcome
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) {
			seed := *simSeed + uint64(round)
			r := rand.New(rand.NewPCG(seed, 3))
			w := &world{simulated: simulate(t, "a", "b", "c"), r: r, began: time.Now()}
			defer w.stop()
			w.sharing.Store(true)
			w.leader()
			for i := range histories {
				h := &testwatch.History{Name: fmt.Sprint("watched", i, "-")}
				var running sync.WaitGroup
				for client := range clients {
					own := rand.New(rand.NewPCG(seed, uint64(100*i+client)))
					running.Go(func() {
						h.Client(own, requests, func() testwatch.Connection { return &watcher{w: w, r: own} })
					})
				}
				time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
				f := faults[r.IntN(len(faults))]
				mend := f.strike(w)
				time.Sleep(time.Duration(100+r.IntN(1500)) * time.Millisecond)
				mend()
				w.leader()
				running.Wait()
				if h.Check(t, &sum); t.Failed() {
					t.Fatalf("after '%s' (seed %d)", f.name, seed)
				}
			}
			if err := w.agree(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("seed %d: %+v", *simSeed, sum)
	if !t.Failed() && (sum.Executed < sum.Requests/20 || sum.Refused < sum.Requests/20 || sum.Unknown == 0 ||
		sum.Skipped > rounds*histories/4) {
		t.Error("too little happened to show anything")
	}
}

// Tokens that the leader takes in its memory are changes of a key too, whether some were taken before the key was
// watched or not.
func TestWatchedKeysOfTheAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.sharing.Store(true)
		leader := s.leader()
		limit := slowLimits[1]
		for i := 0; i < 1000 && leader.Group().Status().DecidedByAllowance == 0; i++ {
			do(leader, engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, "first", i), Limit: limit, Tokens: 1})
			time.Sleep(10 * time.Millisecond)
		}
		for name, n := range s.nodes {
			for _, taken := range []bool{false, true} {
				for _, changed := range []bool{false, true} {
					for _, alone := range []bool{false, true} {
						key := fmt.Appendf(nil, "%s %v %v %v", name, taken, changed, alone)
						take := engine.Op{Verb: engine.Acquire, Key: key, Limit: limit, Tokens: 20}
						before := leader.Group().Status().DecidedByAllowance
						if taken {
							do(leader, take)
						}
						seen := do(n, engine.Op{Verb: engine.Fingerprint, Key: key})[0].Reply
						if changed {
							do(leader, take)
						}
						if inMemory := leader.Group().Status().DecidedByAllowance - before; inMemory == 0 && (taken || changed) {
							t.Errorf("%s: nothing was taken in memory", key)
						}
						b := &engine.Batch{Ops: []engine.Op{{Verb: engine.Expect, Args: [][]byte{key}, KeyCount: 1, Who: seen}, take}[:2],
							Atomic: true}
						if alone {
							b.Ops = b.Ops[:1]
						}
						b.Results = make([]engine.Result, len(b.Ops))
						done := make(chan struct{})
						b.Done = func() { close(done) }
						if !decide(n, b) {
							<-done
						}
						if got := b.Results[0].Status == engine.KeyChanged; got != changed || !alone && b.Results[1].Allowed == changed {
							t.Errorf("%s: %+v", key, b.Results)
						}
					}
				}
			}
		}
	})
}
