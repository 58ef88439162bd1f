// Package waitqueue holds blocked replies until they are due, in the order of their keys.
package waitqueue

import (
	"container/heap"
	"sync"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/clock"
)

// Queue orders blocked replies by due time, and for each key by their order in line. A connection has at most one
// waiter, so the bound on connections bounds the queue.
type Queue struct {
	clock *clock.Clock

	mu    sync.Mutex
	due   dueHeap // timers, and the first waiter of each line
	byKey map[string]*line
	count int // of waiters
	timer *time.Timer
	moved bool // the clock, which a test moves, calls Fire; the timer is not used
}

// line is the waiters of a key in the order in which their waits end.
type line struct {
	key         string
	first, last *Waiter
	end         int64 // clock: when the last one is due
}

// Waiter is one blocked reply, or one timer. Queue.mu guards the places and times; the other fields are constant.
type Waiter struct {
	limit  limits.Limit
	tokens int64
	wake   func()
	isCall bool // no reply waits

	line       *line // nil for a timer
	prev, next *Waiter
	due        int64 // clock, for a timer and the first in a line; for others, the time after the one before
	index      int   // in the heap
	gone       bool
}

// New returns an empty queue. End it with [Queue.Stop].
func New(clock *clock.Clock) *Queue {
	w := &Queue{clock: clock, byKey: make(map[string]*line)}
	w.timer = time.AfterFunc(time.Hour, w.Fire)
	w.moved = clock.OnMove(w.Fire)
	return w
}

// Add queues a reply to op that is due at a time of the clock; wake is called, once, when it is due.
func (w *Queue) Add(op engine.Op, due int64, wake func()) *Waiter {
	n := &Waiter{limit: op.Limit, tokens: op.Tokens, due: due, wake: wake}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if n.line = w.byKey[string(op.Key)]; n.line == nil {
		n.line = &line{key: string(op.Key), first: n, last: n, end: due}
		w.byKey[n.line.key] = n.line
		heap.Push(&w.due, n)
	} else {
		w.enter(n)
	}
	w.rearm()
	return n
}

// enter puts n, whose due time is still a time of the clock, into a line, most often at the end.
func (w *Queue) enter(n *Waiter) {
	l := n.line
	before, at := l.last, l.end
	for before != nil && at > n.due {
		at -= before.due
		before = before.prev
	}
	switch {
	case before == nil:
		n.next, l.first.prev = l.first, n
		l.first.due -= n.due
		w.replaceFirst(l, n)
		return
	case before == l.last:
		l.last, l.end = n, n.due
	default:
		n.next, before.next.prev = before.next, n
		n.next.due -= n.due - at
	}
	n.prev, before.next = before, n
	n.due -= at
}

// replaceFirst makes n, whose due time is a time of the clock, the first of a line.
func (w *Queue) replaceFirst(l *line, n *Waiter) {
	n.prev, n.index = nil, l.first.index
	l.first, w.due[n.index] = n, n
	heap.Fix(&w.due, n.index)
}

// After calls wake, once, at the time due of a reply.
func (w *Queue) After(due int64, wake func()) *Waiter {
	return w.push(&Waiter{due: due, wake: wake})
}

// Call calls f, once, at the time due. It does not count as a waiter.
func (w *Queue) Call(due int64, f func()) *Waiter {
	return w.push(&Waiter{due: due, wake: f, isCall: true})
}

func (w *Queue) push(n *Waiter) *Waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !n.isCall {
		w.count++
	}
	heap.Push(&w.due, n)
	w.rearm()
	return n
}

// Cancel removes a waiter, and reports false if the waiter's time had already come. The waiters after it in the line of
// the key become due earlier, by the time in which the limit of the next one refills the tokens of the removed one.
func (w *Queue) Cancel(n *Waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.gone {
		return false
	}
	earlier := int64(0)
	if n.next != nil {
		earlier = n.next.limit.DurationOf(n.tokens)
	}
	w.remove(n, earlier)
	w.rearm()
	return true
}

// remove takes n out of the queue, and makes the waiters after it in its line due earlier.
func (w *Queue) remove(n *Waiter, earlier int64) {
	if n.gone = true; !n.isCall {
		w.count--
	}
	switch l := n.line; {
	case l == nil:
		heap.Remove(&w.due, n.index)
	case n.next != nil:
		l.end -= earlier
		if n.next.due += n.due - earlier; n.prev == nil {
			w.replaceFirst(l, n.next)
		} else {
			n.prev.next, n.next.prev = n.next, n.prev
		}
	case n.prev == nil:
		heap.Remove(&w.due, n.index)
		delete(w.byKey, l.key)
	default:
		l.end -= n.due
		l.last, n.prev.next = n.prev, nil
	}
}

// Fire wakes every waiter that is due.
func (w *Queue) Fire() {
	w.mu.Lock()
	var due []*Waiter
	for now := w.clock.Now(); len(w.due) > 0 && w.due[0].due <= now; {
		n := w.due[0]
		w.remove(n, 0)
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
	return w.count
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

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	n := x.(*Waiter)
	n.index = len(*h)
	*h = append(*h, n)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return n
}
