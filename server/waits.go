package server

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
)

// waits is the queue of held replies: when each is due, and who waits on the same key behind whom. There is at most one
// waiter a connection, so the bound on connections bounds it too.
type waits struct {
	clock *Clock

	mu    sync.Mutex
	due   dueHeap
	byKey map[string][]*waiter // in the order their waits end
	timer *time.Timer
}

// waiter is one held reply. All its fields but the constant ones are guarded by waits.mu.
type waiter struct {
	key    string
	limit  engine.Limit
	tokens int64
	due    int64 // clock
	wake   func()
	alone  bool // a time and nothing else: it is in no key's queue
	index  int  // in the heap, -1 once it has left
}

func newWaits(clock *Clock) *waits {
	w := &waits{clock: clock, byKey: make(map[string][]*waiter)}
	w.timer = time.AfterFunc(time.Hour, w.fire)
	clock.watch(w.fire)
	return w
}

// add queues a reply to op; wake is called, once, when it is due.
func (w *waits) add(op engine.Op, due int64, wake func()) *waiter {
	n := &waiter{key: string(op.Key), limit: op.Limit, tokens: op.Tokens, due: due, wake: wake}
	w.mu.Lock()
	defer w.mu.Unlock()
	heap.Push(&w.due, n)
	queue := w.byKey[n.key]
	at, _ := slices.BinarySearchFunc(queue, due+1, func(q *waiter, due int64) int { return int(min(max(q.due-due, -1), 1)) })
	w.byKey[n.key] = slices.Insert(queue, at, n)
	w.rearm()
	return n
}

// after has wake called, once, when due has come.
func (w *waits) after(due int64, wake func()) *waiter {
	n := &waiter{due: due, wake: wake, alone: true}
	w.mu.Lock()
	defer w.mu.Unlock()
	heap.Push(&w.due, n)
	w.rearm()
	return n
}

// cancel takes a waiter out and moves those behind it on the same key up by the time its tokens took. It reports false
// if the waiter's time had come already.
func (w *waits) cancel(n *waiter) bool {
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
func (w *waits) remove(n *waiter) (behind []*waiter) {
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

// fire wakes everyone who is due.
func (w *waits) fire() {
	w.mu.Lock()
	var due []*waiter
	for now := w.clock.Now(); len(w.due) > 0 && w.due[0].due <= now; {
		n := heap.Pop(&w.due).(*waiter)
		w.remove(n)
		due = append(due, n)
	}
	w.rearm()
	w.mu.Unlock()
	for _, n := range due {
		n.wake()
	}
}

// rearm sets the timer for the first who is due. The caller holds mu.
func (w *waits) rearm() {
	if len(w.due) > 0 {
		w.timer.Reset(time.Duration(max(0, w.due[0].due-w.clock.Now())))
	}
}

// Len is the number of held replies.
func (w *waits) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.due)
}

// stop ends the timer.
func (w *waits) stop() { w.timer.Stop() }

// dueHeap orders waiters by when they are due.
type dueHeap []*waiter

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop implement heap.Interface.
func (h *dueHeap) Push(x any) {
	n := x.(*waiter)
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
