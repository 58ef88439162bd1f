package propose

import (
	"time"

	"github.com/stintdb/stint/cluster/fsm"
)

const (
	// maxLinger bounds the wait for callers that were just answered.
	maxLinger = 3 * time.Millisecond
	// maxSkipped is how many entries in a row do not wait, where that was in vain before.
	maxSkipped = 64
)

// linger delays an entry until the callers of the entry before have called again, as most of them do at once. Without
// the delay, half of the callers are in the entry under way and half wait for the next one, and an entry costs about
// the same, full or not. The methods are called with the proposer's mu held.
type linger struct {
	target  int           // calls that end the wait; 0 while nothing waits
	enough  int           // calls for which the wait was worth it
	timer   *time.Timer   // also ends the wait
	latency time.Duration // of an entry, about
	skip    int           // entries that do not wait, from now on
	// skipped is how many entries did not wait after the last wait in vain, less the waits since then that were worth it.
	skipped int
}

// begin begins a wait after an entry was applied. The wait is short enough to tell callers who call again from callers
// who come at any time: two thirds of the former call within one and a half times the time that an entry takes.
func (l *linger) begin(e *entry, ended func()) {
	l.latency += (time.Since(e.began) - l.latency) / 8
	wait := min(l.latency*3/2, maxLinger)
	switch {
	case e.kind != fsm.KindDecisions || len(e.calls) < busyCalls || wait <= 0:
	case l.skip > 0:
		l.skip--
	default:
		l.target, l.enough = (len(e.calls)+e.behind)*7/8, len(e.calls)*2/3+e.behind
		if l.timer == nil {
			l.timer = time.AfterFunc(wait, ended)
		} else {
			l.timer.Reset(wait)
		}
	}
}

// holds reports whether the first entry waits. The wait is over once the entry has nearly as many calls as there were
// lately.
func (l *linger) holds(queue []*entry) bool {
	if l.target == 0 {
		return false
	}
	isReady := func(e *entry) bool { return e.kind != fsm.KindDecisions || e.isFull() || len(e.calls) >= l.target }
	if len(queue) > 1 || len(queue) == 1 && isReady(queue[0]) {
		l.timer.Stop()
		l.target, l.skipped = 0, max(0, l.skipped-1)
	}
	return l.target > 0
}

// endLinger ends a wait that has lasted long enough. If the wait was in vain, these callers do not call again at once,
// and further waits would only delay others.
func (p *Proposer) endLinger() {
	p.mu.Lock()
	if l := &p.linger; l.target > 0 {
		if l.target = 0; len(p.queue) == 0 || len(p.queue[0].calls) < l.enough {
			l.skipped = min(2*l.skipped+1, maxSkipped)
			l.skip = l.skipped
		}
	}
	p.mu.Unlock()
	p.signal()
}
