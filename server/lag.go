package server

import (
	"context"
	"sync"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// lag measures how long the event loops take to get round to a task: a loop that is busy with one connection, or that
// waits for something it should not, makes all its others wait as long.
type lag struct {
	mu    sync.Mutex
	loops map[gnet.EventLoop]*loopLag

	peak    [2]int64 // the longest lag of this period and of the one before
	started int64    // clock, of this period
}

// lagPeriod is at least how long a lag is remembered, so that a scrape now and then sees it.
const lagPeriod = int64(15 * time.Second)

// loopLag is one loop's. A task that has not run yet is not followed by another, so a loop that hangs shows a lag that
// grows.
type loopLag struct {
	waiting bool
	given   int64 // clock, when the last task was
}

// add notes a loop. Loops are as many as --loops says, and stay.
func (l *lag) add(loop gnet.EventLoop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loops == nil {
		l.loops = make(map[gnet.EventLoop]*loopLag)
	}
	if l.loops[loop] == nil {
		l.loops[loop] = &loopLag{}
	}
}

// probe gives each loop a task, if it has done the last one, and has noticed told how long that took.
func (l *lag) probe(clock *Clock, noticed func(nanos int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := clock.Now(); now >= l.started+lagPeriod {
		l.peak, l.started = [2]int64{0, l.peak[0]}, now
	}
	for loop, one := range l.loops {
		if one.waiting {
			continue
		}
		one.waiting, one.given = true, clock.Now()
		task := gnet.RunnableFunc(func(context.Context) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			one.waiting = false
			took := clock.Now() - one.given
			l.peak[0] = max(l.peak[0], took)
			noticed(took)
			return nil
		})
		if loop.Execute(context.Background(), task) != nil { // it is shutting down
			one.waiting = false
		}
	}
}

// read is the number of loops and the longest lag lately, that of tasks still waiting included.
func (l *lag) read(now int64) (loops int64, longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	nanos := max(l.peak[0], l.peak[1])
	for _, one := range l.loops {
		if one.waiting {
			nanos = max(nanos, now-one.given)
		}
	}
	return int64(len(l.loops)), time.Duration(nanos)
}
