// Package waitqueue holds blocked replies until they are due, in the order of their keys.
package waitqueue

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/clock"
)

// Queue orders blocked replies by due time, and for each key by their order in line. A connection has at most one waiter, so
// the bound on connections bounds the queue.
type Queue struct {
	clock *clock.Clock

	mu    sync.Mutex
	due   dueHeap
	byKey map[string][]*Waiter // in the order their waits end
	timer *time.Timer
	moved bool // the clock fires, and no timer, which would fire at the same time in a test that is slow
}

// Waiter is one blocked reply, or one timer. Queue.mu guards due and index; the other fields are constant.
type Waiter struct {
	key    string
	limit  limits.Limit
	tokens int64
	due    int64 // clock
	wake   func()
	alone  bool // a timer: it is in no key's queue
	index  int  // in the heap, -1 once it has left
}

// New returns an empty queue. End it with [Queue.Stop].
func New(clock *clock.Clock) *Queue {
	w := &Queue{clock: clock, byKey: make(map[string][]*Waiter)}
	w.timer = time.AfterFunc(time.Hour, w.Fire)
	w.moved = clock.OnMove(w.Fire)
	return w
}

// Add queues a reply to op that is due at a time of the clock; wake is called, once, when it is due.
func (w *Queue) Add(op engine.Op, due int64, wake func()) *Waiter {
	n := &Waiter{key: string(op.Key), limit: op.Limit, tokens: op.Tokens, due: due, wake: wake}
	w.mu.Lock()
	defer w.mu.Unlock()
	heap.Push(&w.due, n)
	queue := w.byKey[n.key]
	at, _ := slices.BinarySearchFunc(queue, due+1, func(q *Waiter, due int64) int { return int(min(max(q.due-due, -1), 1)) })
	w.byKey[n.key] = slices.Insert(queue, at, n)
	w.rearm()
	return n
}

// After calls wake, once, when due has come.
func (w *Queue) After(due int64, wake func()) *Waiter {
	n := &Waiter{due: due, wake: wake, alone: true}
	w.mu.Lock()
	defer w.mu.Unlock()
	heap.Push(&w.due, n)
	w.rearm()
	return n
}

// Cancel removes a waiter. The later waiters of its key become due earlier, by the time that its tokens take. It reports false
// if the waiter's time had come already.
func (w *Queue) Cancel(n *Waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.index < 0 {
		return false
	}
	heap.Remove(&w.due, n.index)
	for _, behind := range w.remove(n) {
		behind.due -= behind.limit.DurationOf(n.tokens)
		heap.Fix(&w.due, behind.index)
	}
	w.rearm()
	return true
}

// remove takes n out of its key's queue and returns those behind it.
func (w *Queue) remove(n *Waiter) (behind []*Waiter) {
	if n.alone {
		return nil
	}
	queue := w.byKey[n.key]
	at := slices.Index(queue, n)
	queue = slices.Delete(queue, at, at+1)
	if len(queue) == 0 {
		delete(w.byKey, n.key)
	} else {
		w.byKey[n.key] = queue
	}
	return queue[at:]
}

// Fire wakes every waiter that is due.
func (w *Queue) Fire() {
	w.mu.Lock()
	var due []*Waiter
	for now := w.clock.Now(); len(w.due) > 0 && w.due[0].due <= now; {
		n := heap.Pop(&w.due).(*Waiter)
		w.remove(n)
		due = append(due, n)
	}
	w.rearm()
	w.mu.Unlock()
	for _, n := range due {
		n.wake()
	}
}

// rearm sets the timer for the first due waiter. The caller holds mu.
func (w *Queue) rearm() {
	if len(w.due) > 0 && !w.moved {
		w.timer.Reset(time.Duration(max(0, w.due[0].due-w.clock.Now())))
	}
}

// Next is when the first waiter is due, by the clock; ok is false without one.
func (w *Queue) Next() (due int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.due) == 0 {
		return 0, false
	}
	return w.due[0].due, true
}

// Keys is the number of keys with waiters.
func (w *Queue) Keys() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byKey)
}

// Len is the number of waiters.
func (w *Queue) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.due)
}

// Stop ends the timer.
func (w *Queue) Stop() { w.timer.Stop() }

// dueHeap orders waiters by when they are due.
type dueHeap []*Waiter

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop implement heap.Interface.
func (h *dueHeap) Push(x any) {
	n := x.(*Waiter)
	n.index = len(*h)
	*h = append(*h, n)
}

// Pop removes the last.
func (h *dueHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	n.index = -1
	return n
}
