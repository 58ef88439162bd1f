package fanout

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
)

// MaxLoggedBytes bounds the items that all logs of a queue keep. Beyond it, the log that has had unread items for the
// longest time drops them: its readers are stuck, and readers of other logs must not lose items for them.
const MaxLoggedBytes = 16 << 20

// Log is a list of items, each for every reader that joined before the item was added. It keeps an item until all of
// these readers have read it. If the items take more than a number of bytes, the log drops the older half, and
// [Place.Read] reports the loss. Make a log with [NewLog]. Its methods may be called from any goroutine.
type Log[T any] struct {
	queue *Queue
	size  func(T) int
	most  int // bytes

	mu     sync.Mutex
	items  []T // an item that is in the list is never changed: readers share the list
	first  uint64
	last   atomic.Uint64 // the number of items that were ever added; changed under mu
	bytes  int
	unread *list.Element // in queue.unread; nil without items
	places []*Place[T]
	behind int // places that have not read the last item

	isDue bool // the queue has the log
	turn  int  // the place that Next looks at first
	round int  // places that are still to be looked at
	again bool // places that were looked at may have unread items again
}

// Place is how far a reader has read a log. One goroutine at a time calls its methods.
type Place[T any] struct {
	log    *Log[T]
	reader *Reader
	next   uint64 // changed by its owner, under log.mu
	index  int    // in log.places
}

// NewLog returns an empty log that keeps at most a number of bytes, or a single item that is larger. size returns the
// bytes of an item.
func NewLog[T any](q *Queue, most int, size func(T) int) *Log[T] {
	return &Log[T]{queue: q, most: most, size: size}
}

// Join adds a reader, for items that are added from now on.
func (l *Log[T]) Join(r *Reader) *Place[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &Place[T]{l, r, l.last.Load(), len(l.places)}
	l.places = append(l.places, p)
	return p
}

// Len is the number of readers.
func (l *Log[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.places)
}

// Lags reports whether readers that have not been woken yet leave more than a quarter of the log's bytes unread.
func (l *Log[T]) Lags() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isDue && l.bytes > l.most/4
}

// Add adds an item and returns the number of readers that it is for. It wakes at most one of them; the queue wakes the
// others later.
func (l *Log[T]) Add(item T) (readers int) {
	l.mu.Lock()
	readers = len(l.places)
	if readers == 0 {
		l.mu.Unlock()
		return 0
	}
	l.items = append(l.items, item)
	l.last.Add(1)
	l.count(l.size(item))
	l.behind = readers
	if l.bytes > l.most && len(l.items) > 1 {
		l.drop(l.most / 2)
	}
	if l.bytes > MaxLoggedBytes {
		l.drop(0) // one item, for which all other logs would have to drop theirs
	}
	wasDue := l.isDue
	if l.isDue = true; wasDue {
		l.again = true
	} else {
		l.round = readers
	}
	l.mu.Unlock()
	l.queue.dropOldest()
	if !wasDue {
		l.queue.Add(l)
	}
	return readers
}

// dropUnread implements dropper. If every reader has read some of the items, only these are dropped.
func (l *Log[T]) dropUnread() {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := l.last.Load()
	for _, p := range l.places {
		least = min(least, p.next)
	}
	if least <= l.first {
		l.drop(0)
		return
	}
	l.remove(int(least - l.first))
	if l.unread != nil {
		l.queue.noteProgress(l.unread)
	}
}

// drop removes the oldest items until at most a number of bytes is left, or a single item that is larger, unless the
// number is 0.
func (l *Log[T]) drop(to int) {
	n := 0
	for left := l.bytes; n < len(l.items) && left > to && (to == 0 || n < len(l.items)-1); n++ {
		left -= l.size(l.items[n])
	}
	l.remove(n)
}

// remove removes the oldest n items.
func (l *Log[T]) remove(n int) {
	for _, item := range l.items[:n] {
		l.count(-l.size(item))
	}
	l.items, l.first = slices.Clone(l.items[n:]), l.first+uint64(n)
}

func (l *Log[T]) count(bytes int) {
	l.bytes += bytes
	l.queue.logged.Add(int64(bytes))
	switch {
	case l.bytes > 0 && l.unread == nil:
		l.unread = l.queue.noteUnread(l)
	case l.bytes == 0 && l.unread != nil:
		l.queue.noteRead(l.unread)
		l.unread = nil
	}
}

// lookedAt bounds the places that one call of Next looks at.
const lookedAt = 128

// Next implements [Source].
func (l *Log[T]) Next() (r *Reader, items int, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := 0; n < lookedAt && l.round > 0 && r == nil; n++ {
		if l.turn >= len(l.places) {
			l.turn = 0
		}
		if p, last := l.places[l.turn], l.last.Load(); p.next < last {
			r, items = p.reader, int(min(last-p.next, window))
		}
		l.turn++
		l.round--
	}
	if l.round == 0 && l.again {
		l.round, l.again = len(l.places), false
	}
	l.isDue = l.round > 0
	return r, items, l.isDue
}

// IsBehind reports whether Read would return something.
func (p *Place[T]) IsBehind() bool { return p.next != p.log.last.Load() }

// Read returns the items that the reader has not read. They must not be changed. isLost reports that the log has
// dropped others before them.
func (p *Place[T]) Read() (items []T, isLost bool) {
	l := p.log
	if !p.IsBehind() {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if isLost = p.next < l.first; isLost {
		p.next = l.first
	}
	items = slices.Clip(l.items[p.next-l.first:])
	l.catchUp(p)
	return items, isLost
}

// catchUp notes that the reader of a place with unread items has read or given up all of them.
func (l *Log[T]) catchUp(p *Place[T]) {
	p.next = l.last.Load()
	if l.behind--; l.behind == 0 {
		l.items, l.first = nil, p.next
		l.count(-l.bytes)
	}
}

// Leave removes the reader, and returns how many are left.
func (p *Place[T]) Leave() (readers int) {
	l := p.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.next < l.last.Load() {
		l.catchUp(p)
	}
	last := len(l.places) - 1
	l.places[p.index] = l.places[last]
	l.places[p.index].index = p.index
	l.places[last] = nil
	l.places = l.places[:last]
	if l.round > 0 {
		l.again = true // the place that has moved may not have been looked at
	}
	l.round = min(l.round, last)
	return last
}
