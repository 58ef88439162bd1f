package propose

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
)

// openQuestion is a future that is answered when the test says so.
type openQuestion struct {
	raft.ApplyFuture
	answer   chan error
	response any
}

func (q openQuestion) Error() error  { return <-q.answer }
func (q openQuestion) Response() any { return q.response }

func newTestProposer(apply func([]byte) raft.ApplyFuture, weigh func([]engine.Op) int, asked *sync.WaitGroup) *Proposer {
	return New(Config{Apply: apply, Stamp: func() int64 { return 1 }, Weigh: weigh, CountFailure: func(engine.Status) {}, Outstanding: asked})
}

// A second entry is proposed beside the first only when it is full, and a third never.
func TestOnlyFullEntriesAreProposedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked sync.WaitGroup
		var sizes []int
		question := openQuestion{answer: make(chan error)}
		p := newTestProposer(func(entry []byte) raft.ApplyFuture {
			sizes = append(sizes, len(entry))
			return question
		}, nil, &asked)
		p.Start()
		add := func(bytes int) {
			t.Helper()
			for range bytes / 1000 {
				key := string(make([]byte, 960))
				if p.Add(&call.Call{Batch: &engine.Batch{Ops: []engine.Op{acquire(key, 10, 1)}, Results: make([]engine.Result, 1), Done: func() {}}}) != engine.OK {
					t.Fatal("no room")
				}
			}
			synctest.Wait()
		}
		want := func(entries int, when string) {
			t.Helper()
			if len(sizes) != entries {
				t.Fatalf("%s, %d entries have been proposed (of %v bytes), want %d", when, len(sizes), sizes, entries)
			}
		}
		add(1000)
		want(1, "with one call")
		add(fullEntryBytes * 9 / 10)
		want(1, "while the second is not full")
		add(fullEntryBytes / 4)
		want(2, "when the second is full")
		if sizes[1] < fullEntryBytes {
			t.Errorf("the second has %d bytes", sizes[1])
		}
		add(3 * fullEntryBytes)
		want(2, "with more that are full")
		question.answer <- raft.ErrLeadershipLost
		synctest.Wait()
		want(3, "when one is decided")
		p.Halt()
		question.answer <- raft.ErrRaftShutdown
		question.answer <- raft.ErrRaftShutdown
		p.Ended.Wait()
		asked.Wait()
	})
}

// A call that only waits with others for an entry under way wakes nobody.
func TestCallsThatWaitWakeNobody(t *testing.T) {
	p := newTestProposer(nil, nil, nil)
	wakes := func() (woken bool) {
		t.Helper()
		status, due := p.pack(nil, &call.Call{Batch: &engine.Batch{Ops: []engine.Op{acquire("key", 10, 1)}, Results: make([]engine.Result, 1)}})
		if status != engine.OK {
			t.Fatal("no room")
		}
		return due
	}
	if !wakes() {
		t.Error("the first call does not have its entry proposed")
	}
	if e := p.next(); len(e.calls) != 1 || wakes() {
		t.Errorf("%d calls, and one that came behind woke the proposer", len(e.calls))
	}
}

// Scripts that take long do not fill an entry, nor the queue, with more work than nodes do while they count as alive.
func TestWorkOfScriptsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked sync.WaitGroup
		entries := 0
		question := openQuestion{answer: make(chan error)}
		weigh := func([]engine.Op) int { return maxEntryWork / 2 }
		p := newTestProposer(func([]byte) raft.ApplyFuture { entries++; return question }, weigh, &asked)
		p.Start()
		add := func(op engine.Op) engine.Status {
			defer synctest.Wait()
			return p.Add(&call.Call{Batch: &engine.Batch{Ops: []engine.Op{op}, Results: make([]engine.Result, 1), Done: func() {}}})
		}
		heavy := engine.Op{Verb: engine.Script, Tokens: scriptcache.Dialect, Args: [][]byte{[]byte("EVAL"), []byte("return 1"), []byte("0")}}
		taken := 0
		for add(heavy) == engine.OK {
			if taken++; taken > 100 {
				t.Fatal("the queue takes any number of heavy scripts")
			}
		}
		// The first is proposed alone, a second entry once it is full with two. The others wait.
		if want := 3 + 2*maxQueuedWork/maxEntryWork; taken != want || entries != 2 {
			t.Errorf("%d scripts were taken and %d entries proposed, want %d and 2", taken, entries, want)
		}
		if status := add(acquire("k", 10, 1)); status != engine.OK {
			t.Errorf("a limiter is refused because of them: %v", status)
		}
		question.answer <- raft.ErrLeadershipLost
		synctest.Wait()
		if status := add(heavy); status != engine.OK {
			t.Errorf("no script is taken once an entry is decided: %v", status)
		}
		p.Halt()
		for range entriesInFlight {
			question.answer <- raft.ErrRaftShutdown
		}
		p.Ended.Wait()
		asked.Wait()
	})
}

// While leadership is transferred, what is queued waits: an entry that Raft gets then may be decided without this node
// hearing of it.
func TestNothingIsProposedDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entries, question := 0, openQuestion{answer: make(chan error)}
		p := newTestProposer(func([]byte) raft.ApplyFuture { entries++; return question }, nil, new(sync.WaitGroup))
		p.Start()
		p.Pause()
		p.AddOther(fsm.KindTick, nil)
		synctest.Wait()
		if entries != 0 || p.IsIdle() || !p.HasNoneInFlight() {
			t.Errorf("%d entries proposed during the pause", entries)
		}
		p.Resume()
		synctest.Wait()
		if entries != 1 || p.HasNoneInFlight() {
			t.Errorf("%d entries proposed after the pause", entries)
		}
		question.answer <- nil
		p.Halt()
		p.Ended.Wait()
	})
}

// An entry is not decided if the state machine says that it was not applied, even if Raft does not.
func TestEntryThatIsNotApplied(t *testing.T) {
	var asked sync.WaitGroup
	question := openQuestion{answer: make(chan error, 1), response: raft.ErrRaftShutdown}
	question.answer <- nil
	p := newTestProposer(func([]byte) raft.ApplyFuture { return question }, nil, &asked)
	p.Start()
	if err := <-p.AddOther(fsm.KindTick, nil); !errors.Is(err, raft.ErrRaftShutdown) {
		t.Errorf("it ended with %v", err)
	}
	p.Halt()
	p.Ended.Wait()
}
