// Package fairqueue has batches that take long decided beside the event loops, one at a time. Their owners take turns by the
// time that their batches have taken, as in start-time fair queueing (Goyal, Vin and Cheng, 1996): an owner with many
// connections gets no more of it than one with a single connection.
package fairqueue

import (
	"slices"
	"sync"

	"github.com/stintdb/stint/engine"
)

// Queue is the queue of one server. Each connection has at most one batch in it.
type Queue struct {
	decide func(b *engine.Batch) (finished bool)
	now    func() int64

	working sync.WaitGroup
	mu      sync.Mutex
	owners  []*owner // with batches, in the order in which they came
	started int64    // the least time with which an owner begins: that of the batch which was begun last
	running bool
}

// owner takes turns with others.
type owner struct {
	name    string
	used    int64 // nanoseconds of batches, from the time with which it began
	waiting []*engine.Batch
}

// New returns a queue in front of a decider's Decide; now is a monotonic clock, in nanoseconds.
func New(decide func(b *engine.Batch) (finished bool), now func() int64) *Queue {
	return &Queue{decide: decide, now: now}
}

// Decide has a batch decided later, and its Done called then. It copies the keys and arguments of the batch.
func (q *Queue) Decide(name string, b *engine.Batch) {
	copied := b.Clone()
	copied.Done = func() {
		b.Worked += copied.Worked
		b.Done()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.owners, func(o *owner) bool { return o.name == name })
	if i < 0 {
		i = len(q.owners)
		q.owners = append(q.owners, &owner{name: name, used: q.started})
	}
	q.owners[i].waiting = append(q.owners[i].waiting, copied)
	if !q.running {
		q.running = true
		q.working.Go(q.work)
	}
}

// IsRunning reports whether batches are being decided, or wait.
func (q *Queue) IsRunning() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// Wait waits until all batches are decided.
func (q *Queue) Wait() { q.working.Wait() }

// work decides batches until none is left.
func (q *Queue) work() {
	for o, b := q.next(); b != nil; o, b = q.next() {
		done := b.Done
		began := q.now()
		q.finish(b)
		q.mu.Lock()
		o.used += max(q.now()-began, 1)
		if len(o.waiting) == 0 {
			q.owners = slices.DeleteFunc(q.owners, func(other *owner) bool { return other == o })
		}
		q.mu.Unlock()
		done()
	}
}

// next takes the first batch of the owner that has used the least time.
func (q *Queue) next() (least *owner, b *engine.Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.owners {
		if least == nil || o.used < least.used {
			least = o
		}
	}
	if least == nil {
		q.running = false
		return nil, nil
	}
	q.started = least.used
	b, least.waiting = least.waiting[0], least.waiting[1:]
	return least, b
}

// finish waits until a batch is decided.
func (q *Queue) finish(b *engine.Batch) {
	decided := make(chan struct{})
	b.Done = func() { close(decided) }
	began := q.now()
	finished := q.decide(b)
	worked := q.now() - began
	if !finished {
		<-decided
	}
	b.Worked += worked
}
