package warn

import (
	"slices"
	"time"
)

// queued is a warning that waits to be posted.
type queued struct {
	id    string
	at    int64 // nanoseconds since the Unix epoch, by the clock of the limits
	came  time.Time
	text  []byte
	tries int       // failed attempts
	next  time.Time // when the next attempt is due, after a failed one
}

func (one *queued) isOld(now time.Time) bool { return now.UnixNano()-one.at >= int64(KeptFor) }

// queue holds the warnings that wait, in two lists, each in the order in which the warnings came.
type queue struct {
	untried, tried []*queued
	bytes          int // of all texts
}

func (q *queue) length() int { return len(q.untried) + len(q.tried) }

func (q *queue) isTooLong() bool {
	return q.length() > MaxQueued || q.bytes > MaxQueuedBytes && q.length() > 1
}

func (q *queue) add(one *queued) {
	q.untried = append(q.untried, one)
	q.bytes += len(one.text)
}

// toMakeRoom returns the warning to give up if there are too many.
func (q *queue) toMakeRoom() *queued {
	if len(q.tried) > 0 {
		return q.tried[0]
	}
	return q.untried[0]
}

// again notes a failed attempt. The warning will be tried again, unless it was given up in between.
func (q *queue) again(one *queued) {
	one.tries++
	if i := slices.Index(q.untried, one); i >= 0 {
		q.untried = slices.Delete(q.untried, i, i+1)
		at, _ := slices.BinarySearchFunc(q.tried, one.at, func(of *queued, at int64) int { return int(min(max(of.at-at, -1), 1)) })
		q.tried = slices.Insert(q.tried, at, one)
	}
}

func (q *queue) has(one *queued) bool {
	return slices.Contains(q.untried, one) || slices.Contains(q.tried, one)
}

func (q *queue) remove(one *queued) {
	for _, list := range []*[]*queued{&q.untried, &q.tried} {
		if i := slices.Index(*list, one); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			q.bytes -= len(one.text)
		}
	}
}

// firstDue returns the warning that is first due to be tried again, nil if none was tried yet.
func (q *queue) firstDue() (first *queued) {
	for _, one := range q.tried {
		if first == nil || one.next.Before(first.next) {
			first = one
		}
	}
	return first
}
