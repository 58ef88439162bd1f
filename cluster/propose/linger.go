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

// linger has the next entry wait for the callers of the one before, of which most call again at once. Otherwise half of them are in the
// entry under way and half wait for the next, and an entry costs about the same, full or not. Its methods are called with the proposer's mu held.
type linger struct {
	target  int           // calls that end the wait; 0 while there is none
	enough  int           // calls with which it was worth it
	timer   *time.Timer   // ends the wait, too
	latency time.Duration // of an entry, about
	skip    int           // so many entries do not wait
	skipped int           // so many did not behind the last wait in vain, less the waits since that were worth it
}

// begin begins a wait behind an entry that was applied. It is not so long that callers who come at any time could look like those that call again:
// of these, two thirds do within one and a half times the time that entries take.
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

// holds reports whether the first entry waits. It does not once it has nearly as many calls as there were lately.
func (l *linger) holds(queue []*entry) bool {
	if l.target == 0 {
		return false
	}
	if len(queue) > 1 || len(queue) == 1 && (queue[0].kind != fsm.KindDecisions || queue[0].isFull() || len(queue[0].calls) >= l.target) {
		l.timer.Stop()
		l.target, l.skipped = 0, max(0, l.skipped-1)
	}
	return l.target > 0
}

// endLinger ends a wait that has lasted long enough. If it was in vain, these callers do not call again at once, and the next waits would only
// delay others.
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
