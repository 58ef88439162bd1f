// Package fairqueue decides batches that take long beside the event loops, one at a time. Their owners take turns
// by the time that their batches have taken, as in start-time fair queueing (Goyal, Vin and Cheng, 1996): an owner with
// many connections gets no more of it than one with a single connection.
package fairqueue

import (
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
)

// Queue is the queue of one server. Each connection has at most one batch in it.
type Queue struct {
	decide func(b *engine.Batch) (finished bool)
	now    func() int64

	working sync.WaitGroup
	mu      sync.Mutex
	owners  owners[*engine.Batch]
	started int64 // the time with which an owner begins: the one of the owner whose batch was begun last
	running bool
	undone  int // batches whose Done has not returned
}

// patience is how long the queue waits for the decision of a batch that others are asked for, such as the majority of a
// cluster. The batch then holds up its owner's next ones only: its group may have no leader.
const patience = 100 * time.Millisecond

// New returns a queue in front of a decider's Decide; now is a monotonic clock, in nanoseconds.
func New(decide func(b *engine.Batch) (finished bool), now func() int64) *Queue {
	return &Queue{decide: decide, now: now}
}

// Decide puts a batch into the queue, and calls its Done once it is decided. It copies the keys and arguments.
func (q *Queue) Decide(name string, b *engine.Batch) {
	copied := b.Clone()
	copied.Done = func() {
		b.Worked += copied.Worked
		b.Done()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.owners.add(name, copied, q.started)
	q.undone++
	q.run()
}

// run decides batches. The caller holds mu.
func (q *Queue) run() {
	if !q.running {
		q.running = true
		q.working.Go(q.work)
	}
}

// IsRunning reports whether batches wait or are being decided, or their Done is being called.
func (q *Queue) IsRunning() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.undone > 0
}

// Wait waits until all batches are decided.
func (q *Queue) Wait() { q.working.Wait() }

// work decides batches until none is left, but for those of owners that wait.
func (q *Queue) work() {
	for o, b := q.next(); b != nil; o, b = q.next() {
		q.finish(o, b)
	}
}

// next takes the first batch of the owner that has used the least time. It returns nil if there is none.
func (q *Queue) next() (least *owner[*engine.Batch], b *engine.Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.owners {
		if !o.isLate && (least == nil || o.used < least.used) {
			least = o
		}
	}
	if least == nil {
		q.running = false
		return nil, nil
	}
	q.started = least.used
	return least, least.take()
}

// finish decides a batch. It waits for the decision, but not longer than patience.
func (q *Queue) finish(o *owner[*engine.Batch], b *engine.Batch) {
	done, decided := b.Done, make(chan struct{})
	b.Done = func() { close(decided) }
	began := q.now()
	finished := q.decide(b)
	worked := q.now() - began
	end := func() {
		b.Worked += worked
		took := max(q.now()-began, 1)
		done()
		q.end(o, took)
	}
	if finished {
		end()
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-decided:
		end()
	case <-late.C:
		q.mu.Lock()
		o.isLate = true
		q.mu.Unlock()
		q.working.Go(func() {
			<-decided
			end()
		})
	}
}

// end notes that an owner's batch took some time, and that its Done has returned.
func (q *Queue) end(o *owner[*engine.Batch], took int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.undone--
	o.used += took
	o.isLate = false
	if len(o.waiting) == 0 {
		q.owners.remove(o)
		return
	}
	q.run()
}
