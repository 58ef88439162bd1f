// Package logqueue keeps a slow reader of the log from holding up the server.
package logqueue

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Queue writes the lines of the log in a separate goroutine, so that a reader of standard error that stalls, such as a
// terminal after Ctrl-S or a container's log driver, holds up nothing else. Lines that do not fit within MaxBytes or
// cannot be written are lost, and counted.
type Queue struct {
	to   io.Writer
	wake chan struct{}

	mu      sync.Mutex
	lines   [][]byte
	bytes   int
	lost    int
	flushes []chan struct{} // closed once all lines before are written
	ended   bool
}

// MaxBytes bounds the lines that wait to be written.
const MaxBytes = 1 << 20

// flushTime is how long Flush waits at most.
const flushTime = time.Second

// New begins to write to a writer. It calls say between two lines when lines were lost.
func New(to io.Writer, say func(lost int)) *Queue {
	q := &Queue{to: to, wake: make(chan struct{}, 1)}
	go q.write(say)
	return q
}

// Write implements [io.Writer] for one line.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || q.bytes+len(line) > MaxBytes {
		q.lost++
		return len(line), nil
	}
	q.lines, q.bytes = append(q.lines, bytes.Clone(line)), q.bytes+len(line)
	q.wakeUp()
	return len(line), nil
}

func (q *Queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) write(say func(lost int)) {
	lost, fails := 0, false // lines that nobody was told of, and whether the last one could not be written
	for ended := false; !ended; {
		<-q.wake
		q.mu.Lock()
		lines, flushes := q.lines, q.flushes
		lost += q.lost
		q.lines, q.bytes, q.lost, q.flushes, ended = nil, 0, 0, nil, q.ended
		q.mu.Unlock()
		for _, line := range lines {
			_, err := q.to.Write(line)
			if fails = err != nil; fails { // nobody could be told now
				lost++
			}
		}
		if lost > 0 && !fails {
			say(lost)
			lost = 0
		}
		for _, done := range flushes {
			close(done)
		}
	}
}

// Flush waits until all lines so far are written, and ends the queue if that is the end.
func (q *Queue) Flush(end bool) {
	done := make(chan struct{})
	q.mu.Lock()
	q.flushes, q.ended = append(q.flushes, done), end
	q.wakeUp()
	q.mu.Unlock()
	select {
	case <-done:
	case <-time.After(flushTime):
	}
}
