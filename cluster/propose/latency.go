package propose

import (
	"slices"
	"time"
)

// recordOutcome notes that the fate of an entry is known, and whether it was late.
func (p *Proposer) recordOutcome(e *entry, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.proposedAt, e.began); i >= 0 {
		p.proposedAt = slices.Delete(p.proposedAt, i, i+1)
	}
	if err == nil && p.Rounds == nil {
		p.linger.begin(e, p.endLinger)
	}
	if err != nil || time.Since(e.began) <= p.LateAfter {
		p.lateInRow = 0
		return
	}
	if p.lateInRow == 0 {
		p.lateSince = e.began
	}
	p.lateInRow++
}

// OldestAge is for how long the oldest entry under way has been, 0 if none is.
func (p *Proposer) OldestAge() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.proposedAt) == 0 {
		return 0
	}
	return time.Since(p.proposedAt[0])
}

// LateEntries returns how many entries in a row are late, up to the oldest one under way, and since when; 0 if that
// entry is not late.
func (p *Proposer) LateEntries() (since time.Time, inRow int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.proposedAt) == 0 || time.Since(p.proposedAt[0]) <= p.LateAfter {
		return time.Time{}, 0
	}
	if p.lateInRow == 0 {
		return p.proposedAt[0], 1
	}
	return p.lateSince, p.lateInRow + 1
}

// IsIdle reports whether nothing waits to be proposed, and every proposed entry was applied or has failed.
func (p *Proposer) IsIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) == 0 && len(p.inFlight) == 0
}

// HasNoneInFlight reports whether every proposed entry was applied or has failed.
func (p *Proposer) HasNoneInFlight() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.inFlight) == 0
}

// EntryLatency is about the time from proposing an entry to having applied it, 0 before the first entry.
func (p *Proposer) EntryLatency() time.Duration {
	if p.Rounds != nil {
		return p.Rounds.entryLatency()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.linger.latency
}
