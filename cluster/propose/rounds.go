package propose

import (
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/fsm"
)

// Rounds lets the groups of a node propose together. An entry costs about the same, full or not, so each of several
// groups under load waits a little for more calls, and for the other groups: their entries then share writes, syncs and
// wakes.
type Rounds struct {
	mu      sync.Mutex
	waiting []*Proposer
	latency time.Duration // of an entry, about
}

const (
	// busyCalls is the least number of calls of an entry for which it is worth waiting for more.
	busyCalls = 4
	// maxRoundWait bounds the wait for a round.
	maxRoundWait = 5 * time.Millisecond
)

// observe takes the time from proposing an entry to having applied it.
func (r *Rounds) observe(took time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latency += (took - r.latency) / 8
}

func (r *Rounds) entryLatency() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latency
}

// joinsRound puts the first entry off until the next round, and reports whether it did. The caller holds p.mu.
func (p *Proposer) joinsRound() bool {
	if p.Rounds == nil || p.isDue || len(p.queue) > 1 || p.queue[0].kind != fsm.KindDecisions ||
		max(p.lastSize, len(p.queue[0].calls)) < busyCalls {
		return false
	}
	p.inRound = p.inRound || p.Rounds.join(p)
	return p.inRound
}

// join adds a proposer to the next round. It reports false if nothing is known yet of how long entries take.
func (r *Rounds) join(p *Proposer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := min(r.latency, maxRoundWait)
	if wait <= 0 {
		return false
	}
	if len(r.waiting) == 0 {
		time.AfterFunc(wait, r.begin)
	}
	r.waiting = append(r.waiting, p)
	return true
}

// begin lets all proposers that wait propose.
func (r *Rounds) begin() {
	r.mu.Lock()
	due := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	due[0].Begun.Add(1)
	for _, p := range due {
		p.mu.Lock()
		p.inRound, p.isDue = false, true
		p.mu.Unlock()
		p.signal()
	}
}
