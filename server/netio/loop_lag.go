package netio

import (
	"sync"
	"time"

	"github.com/stintdb/stint/server/clock"
)

// LoopLag measures the lag of event loops: a loop that is busy with one connection, or that waits for something it
// should not, makes all its other connections wait that long.
type LoopLag struct {
	mu    sync.Mutex
	loops map[taskLoop]*loopTask

	peak    [2]int64 // the longest lag of this lagPeriod and of the one before
	started int64    // clock, of this lagPeriod
}

// taskLoop is an event loop as LoopLag sees it. execute has it run a task soon; it reports false if the loop has ended.
type taskLoop interface{ execute(task func()) bool }

// lagPeriod is the least time for which a lag is remembered, so that a scrape sees it.
const lagPeriod = int64(15 * time.Second)

// loopTask is the last task of one event loop. A task that has not run yet is not followed by another, so a loop that
// hangs shows a lag that grows.
type loopTask struct {
	waiting bool
	given   int64 // clock, when the last task was
}

// add measures a loop. The loops of --loops are never removed.
func (m *LoopLag) add(to taskLoop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loops == nil {
		m.loops = make(map[taskLoop]*loopTask)
	}
	if m.loops[to] == nil {
		m.loops[to] = &loopTask{}
	}
}

// Probe gives each loop a task, if it has done the last one, and calls noticed with the lag of that one.
func (m *LoopLag) Probe(clock *clock.Clock, noticed func(nanos int64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := clock.Now(); now >= m.started+lagPeriod {
		m.peak, m.started = [2]int64{0, m.peak[0]}, now
	}
	for of, one := range m.loops {
		if one.waiting {
			continue
		}
		one.waiting, one.given = true, clock.Now()
		ran := func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			one.waiting = false
			took := clock.Now() - one.given
			m.peak[0] = max(m.peak[0], took)
			noticed(took)
		}
		if !of.execute(ran) {
			one.waiting = false
		}
	}
}

// Read returns the number of loops and the longest lag lately, including the lag of tasks that still wait.
func (m *LoopLag) Read(now int64) (loops int64, longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	nanos := max(m.peak[0], m.peak[1])
	for _, one := range m.loops {
		if one.waiting {
			nanos = max(nanos, now-one.given)
		}
	}
	return int64(len(m.loops)), time.Duration(nanos)
}
