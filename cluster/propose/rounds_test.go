package propose

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
)

// roundsGroup is the proposer of one of several groups, whose entries take 2 ms.
type roundsGroup struct {
	*Proposer
	seen     sync.Mutex
	proposed []proposal
}

// proposal is an entry: when it was proposed, since the test began, and its calls.
type proposal struct {
	at    time.Duration
	calls int
}

// proposals returns and forgets the entries proposed.
func (g *roundsGroup) proposals() (all []proposal) {
	synctest.Wait()
	g.seen.Lock()
	defer g.seen.Unlock()
	all, g.proposed = g.proposed, nil
	return all
}

func (g *roundsGroup) setLastSize(calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lastSize = calls
}

func (g *roundsGroup) add(calls, bytes int) {
	for range calls {
		g.Add(&call.Call{Batch: &engine.Batch{Ops: []engine.Op{acquire(string(make([]byte, bytes)), 10, 1)}, Results: make([]engine.Result, 1), Done: func() {}}})
	}
}

// newRoundsGroups starts two groups that propose in rounds, inside a synctest bubble.
func newRoundsGroups(t *testing.T) (groups [2]*roundsGroup) {
	asked, rounds, began := &sync.WaitGroup{}, &Rounds{}, time.Now()
	for i := range groups {
		g := &roundsGroup{}
		g.Proposer = New(Config{Stamp: func() int64 { return 1 }, CountFailure: func(engine.Status) {}, Outstanding: asked, Rounds: rounds, LateAfter: time.Second, Apply: func(entry []byte) raft.ApplyFuture {
			g.mu.Lock()
			calls := g.lastSize
			g.mu.Unlock()
			g.seen.Lock()
			g.proposed = append(g.proposed, proposal{time.Since(began), calls})
			g.seen.Unlock()
			question := openQuestion{answer: make(chan error, 1)}
			time.AfterFunc(2*time.Millisecond, func() { question.answer <- nil })
			return question
		}})
		g.Start()
		groups[i] = g
	}
	t.Cleanup(func() {
		asked.Wait()
		for _, g := range groups {
			g.Halt()
			g.Ended.Wait()
		}
	})
	return groups
}

// Groups under load wait a little, and propose together.
func TestGroupsProposeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		groups := newRoundsGroups(t)
		a, b := groups[0], groups[1]
		for range 30 { // until it is known how long entries take
			a.add(1, 10)
			time.Sleep(3 * time.Millisecond)
		}
		a.proposals()
		a.add(1, 10)
		b.add(1, 10)
		if len(a.proposals()) != 1 || len(b.proposals()) != 1 {
			t.Error("a lone call waits")
		}
		time.Sleep(time.Second)
		before := a.Begun.Load() + b.Begun.Load()
		if before != 32 {
			t.Errorf("%d rounds of 32 calls", before)
		}
		a.setLastSize(busyCalls)
		b.setLastSize(busyCalls)
		a.add(2, 10)
		time.Sleep(time.Millisecond)
		b.add(1, 10)
		a.add(3, 10)
		if len(a.proposals()) > 0 || len(b.proposals()) > 0 {
			t.Error("a busy group does not wait")
		}
		time.Sleep(time.Second)
		inA, inB := a.proposals(), b.proposals()
		if len(inA) != 1 || len(inB) != 1 || inA[0].at != inB[0].at || inA[0].calls != 5 || inB[0].calls != 1 {
			t.Errorf("they proposed %v and %v", inA, inB)
		}
		if rounds := a.Begun.Load() + b.Begun.Load() - before; rounds != 1 {
			t.Errorf("%d rounds, want 1", rounds)
		}
	})
}

// Neither a full entry nor one about the cluster waits for a round.
func TestWhoDoesNotWaitForRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRoundsGroups(t)[0]
		g.Rounds.latency = time.Minute
		g.setLastSize(busyCalls)
		g.add(1, 10)
		if len(g.proposals()) > 0 {
			t.Error("it did not wait")
		}
		g.add(40, 1000)
		if all := g.proposals(); len(all) != 1 || all[0].at != 0 {
			t.Errorf("a full entry: %v", all)
		}
		time.Sleep(time.Second)
		done := g.AddOther(fsm.KindTick, nil)
		time.Sleep(3 * time.Millisecond)
		select {
		case <-done:
		default:
			t.Error("the entry about the cluster waits")
		}
	})
}
