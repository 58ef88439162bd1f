// Package fanout passes changes and messages of one connection on to many others. The cost for the one connection does
// not depend on how many others there are: it adds an item to a [Log], the others read the log in their own turns, and
// a [Queue] wakes a few of them at a time.
package fanout

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
)

// Queue wakes readers one after the other. A reader takes a part of the window from the moment it is woken until its
// turn begins, and no reader is woken while the window is full. So an event loop never has to serve many of them before
// other connections.
type Queue struct {
	logged atomic.Int64 // bytes in all logs

	logs   sync.Mutex
	unread list.List // the logs with items, each a dropper; first the log that has had items for the longest time

	mu    sync.Mutex
	due   []Source // whose readers are to be woken, from the place begin on
	begin int
	taken int // of the window
}

// dropper is a log as the queue knows it.
type dropper interface{ dropUnread() }

func (q *Queue) noteUnread(log dropper) *list.Element {
	q.logs.Lock()
	defer q.logs.Unlock()
	return q.unread.PushBack(log)
}

// noteProgress notes that all readers of a log have read some of its items.
func (q *Queue) noteProgress(log *list.Element) {
	q.logs.Lock()
	defer q.logs.Unlock()
	q.unread.MoveToBack(log)
}

func (q *Queue) noteRead(log *list.Element) {
	q.logs.Lock()
	defer q.logs.Unlock()
	q.unread.Remove(log)
}

// dropOldest has logs drop their items while all logs keep more than they may. The caller holds the lock of no log.
func (q *Queue) dropOldest() {
	for q.logged.Load() > MaxLoggedBytes {
		q.logs.Lock()
		oldest := q.unread.Front()
		q.logs.Unlock()
		if oldest == nil {
			return
		}
		oldest.Value.(dropper).dropUnread()
	}
}

// Source has readers that are to be woken.
type Source interface {
	// Next returns a reader to be woken now, nil if there is none, and about how many items it will write in its turn.
	// If more is true, the queue asks the source again, after the other sources.
	Next() (r *Reader, items int, more bool)
}

// Parts of the window are in items of logs.
const (
	window   = 1024
	turnPart = window / 16 // a turn of a connection takes about as long as to write so many items
)

// Add adds a source. One of its readers is woken now if the window has room.
func (q *Queue) Add(s Source) {
	q.mu.Lock()
	q.due = append(q.due, s)
	q.mu.Unlock()
	q.wake(1)
}

// wake takes a number of sources while the window has room, and more if no reader is awake then: a reader that is awake
// calls wake again in its turn.
func (q *Queue) wake(most int) {
	for ; ; most-- {
		q.mu.Lock()
		if q.begin == len(q.due) || q.taken >= window || most <= 0 && q.taken > 0 {
			q.mu.Unlock()
			return
		}
		s := q.take()
		q.mu.Unlock()
		r, items, more := s.Next()
		part := turnPart + min(items, window)
		q.mu.Lock()
		if more {
			q.due = append(q.due, s)
		}
		isWoken := r != nil && r.part.CompareAndSwap(0, int32(part))
		if isWoken {
			q.taken += part
		}
		q.mu.Unlock()
		if isWoken {
			r.wakeNow()
		}
	}
}

// take removes the first source. The list keeps its room, and moves down once most of it is free.
func (q *Queue) take() Source {
	s := q.due[q.begin]
	q.due[q.begin] = nil
	if q.begin++; q.begin > len(q.due)/2 {
		q.due, q.begin = slices.Delete(q.due, 0, q.begin), 0
	}
	return s
}

// Reader is a connection that reads logs, or that may be woken together with many others for another reason.
type Reader struct {
	by     *Queue
	wake   func()
	part   atomic.Int32 // of the window, from its wake-up to its turn
	called atomic.Int32 // while the queue has it because of Call: the items, and 1
	away   atomic.Bool  // it is paused, and may have no turn until Resume
	missed atomic.Bool  // it was woken while it was paused
}

// Init makes a reader ready. The queue calls wake from any goroutine, with locks held. It must return at once, and
// bring about a turn soon.
func (r *Reader) Init(q *Queue, wake func()) { r.by, r.wake = q, wake }

// Queue returns the queue that wakes the reader.
func (r *Reader) Queue() *Queue { return r.by }

// Call adds the reader to the queue, unless it is there already. items says how long its turn will take: about as long
// as writing so many items.
func (r *Reader) Call(items int) {
	if r.called.CompareAndSwap(0, int32(1+min(items, window))) {
		r.by.Add(r)
	}
}

// Next implements [Source].
func (r *Reader) Next() (_ *Reader, items int, more bool) { return r, int(r.called.Swap(0)) - 1, false }

// BeginTurn notes that the connection's turn has begun, in which it reads everything new. The queue then wakes other
// readers.
func (r *Reader) BeginTurn() {
	if r.part.Load() == 0 {
		return
	}
	part := r.part.Swap(0)
	q := r.by
	q.mu.Lock()
	q.taken -= int(part)
	q.mu.Unlock()
	q.wake(2)
}

// wakeNow wakes a reader that has its part of the window.
func (r *Reader) wakeNow() {
	r.wake()
	if !r.away.Load() {
		return
	}
	r.missed.Store(true)
	r.BeginTurn()
	if !r.away.Load() && r.missed.Swap(false) {
		r.wake()
	}
}

// Pause gives the reader's part of the window to others, because its connection is closed, or because a write to it may
// block.
func (r *Reader) Pause() {
	r.away.Store(true)
	r.BeginTurn()
}

// Resume ends a Pause.
func (r *Reader) Resume() {
	r.away.Store(false)
	if r.missed.Swap(false) {
		r.wake()
	}
}
