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

const entryTakes = 4 * time.Millisecond

// lingering is the proposer of a single group, each of whose entries takes entryTakes. A call that is added has its
// done called when it is answered.
type lingering struct {
	*Proposer
	asked sync.WaitGroup
	sizes []int // of the entries proposed, in calls
}

func newLingering() *lingering {
	l := &lingering{}
	l.Proposer = newTestProposer(func([]byte) raft.ApplyFuture {
		l.mu.Lock()
		l.sizes = append(l.sizes, l.lastSize)
		l.mu.Unlock()
		question := openQuestion{answer: make(chan error, 1)}
		time.AfterFunc(entryTakes, func() { question.answer <- nil })
		return question
	}, nil, &l.asked)
	l.LateAfter = time.Second
	l.Start()
	return l
}

func (l *lingering) add(done func()) {
	l.Add(&call.Call{Batch: &engine.Batch{Ops: []engine.Op{acquire("key", 10, 1)}, Results: make([]engine.Result, 1), Done: done}})
}

func (l *lingering) end() {
	l.Halt()
	l.Ended.Wait()
	l.asked.Wait()
}

// Callers that call again a moment after each answer are in one entry, not in two by turns.
func TestCallersThatCallAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, until := newLingering(), time.Now().Add(time.Second)
		defer l.end()
		var again func()
		again = func() {
			if time.Now().Before(until) {
				time.AfterFunc(time.Millisecond, func() { l.add(again) })
			}
		}
		for i := range 40 {
			time.AfterFunc(time.Duration(i)*entryTakes/20, again)
		}
		time.Sleep(time.Until(until))
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, size := range l.sizes[len(l.sizes)-20:] {
			if size < 35 {
				t.Fatalf("of 40 callers, these were in an entry: %v", l.sizes)
			}
		}
	})
}

// Where callers do not call again, few others wait for them in vain.
func TestCallersThatDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, delayed := newLingering(), 0
		defer l.end()
		for range 200 {
			l.add(func() {})
			synctest.Wait() // it is alone in an entry, and the next ten are in the entry after it
			for range 10 {
				l.add(func() {})
			}
			time.Sleep(2*entryTakes + time.Millisecond)
			began := time.Now()
			l.add(func() {
				if time.Since(began) > entryTakes {
					delayed++
				}
				if time.Since(began) > entryTakes+maxLinger {
					t.Errorf("it was answered after %v", time.Since(began))
				}
			})
			time.Sleep(10 * entryTakes)
		}
		if delayed == 0 || delayed > 8 {
			t.Errorf("%d of 200 were delayed", delayed)
		}
	})
}

// A full entry does not wait, nor an entry about the cluster itself, nor one that follows an entry of few calls.
func TestEntriesThatDoNotLinger(t *testing.T) {
	for name, add := range map[string]func(l *lingering){
		"full": func(l *lingering) {
			l.add(nil)
			l.queue[0].buf = append(l.queue[0].buf, make([]byte, fullEntryBytes)...)
		},
		"enough":  func(l *lingering) { l.add(nil); l.add(nil) },
		"another": func(l *lingering) { l.AddOther(fsm.KindTick, nil) },
	} {
		l := &lingering{Proposer: newTestProposer(nil, nil, nil)}
		l.linger = linger{target: 2, timer: time.AfterFunc(time.Hour, func() {})}
		if l.add(nil); !l.linger.holds(l.queue) {
			t.Errorf("%s: nothing is held", name)
		}
		l.queue = nil
		if add(l); l.linger.holds(l.queue) {
			t.Errorf("%s: it waits", name)
		}
	}
	var l linger
	if l.begin(&entry{kind: fsm.KindDecisions, calls: make([]*call.Call, busyCalls-1), began: time.Now().Add(-time.Second)}, nil); l.target > 0 {
		t.Error("it waits behind few calls")
	}
}
