package testspec

import (
	"fmt"
	"sync"
	"time"
)

// Voters follows the messages between the members of one group by the rules of the model of leaders: a leader grants from
// memory only while a majority has agreed to messages that it sent a short while ago, and a voter that has agreed to a
// leader's message votes for no other node for a timeout. Members are named by their ids. The sender of a message knows
// only that it was heard between its sending and its answer, so a vote is refused if it was too soon in any case. It
// is used in synctest bubbles only, whose time is simulated.
type Voters struct {
	Timeout time.Duration // of heartbeats

	mu      sync.Mutex
	heard   map[string]agreed // by voters
	stood   map[string]stood  // by candidates
	offered map[string]uint64 // by voters: the term of the last vote that they may give at once
	voters  string            // at the last grant
	since   time.Time         // the first grant with these voters
	events  int
	err     error
}

// agreed is the last message of a leader to which a voter has agreed.
type agreed struct {
	leader string
	term   uint64
	sent   time.Time
}

// stood is when a candidate has first asked for votes in a term.
type stood struct {
	term uint64
	at   time.Time
}

// Err is [Tracer.Err].
func (v *Voters) Err() (events int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.events, v.err
}

// Agreed notes that a voter has agreed to a message of a leader.
func (v *Voters) Agreed(leader, voter string, term uint64, sent time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if own := v.stood[leader]; own.term == term { // it was elected, so its own vote has counted
		v.vote(leader, leader, term, own.at)
		delete(v.stood, leader)
	}
	if v.heard == nil {
		v.heard = map[string]agreed{}
	}
	if h := v.heard[voter]; term > h.term || term == h.term && sent.After(h.sent) {
		v.heard[voter] = agreed{leader, term, sent}
	}
}

// Asks notes that a candidate is about to ask a voter for its vote. A leader that has offered the leadership, or stands
// again itself, has no lease from before.
func (v *Voters) Asks(candidate, voter string, term uint64, isOffered bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stood == nil {
		v.stood, v.offered = map[string]stood{}, map[string]uint64{}
	}
	if v.stood[candidate].term != term {
		v.stood[candidate] = stood{term, time.Now()}
	}
	if isOffered {
		v.offered[candidate] = max(v.offered[candidate], term)
	}
	if isOffered || v.heard[voter].leader == candidate {
		v.offered[voter] = max(v.offered[voter], term)
	}
}

// Votes notes that a voter has given a candidate its vote.
func (v *Voters) Votes(candidate, voter string, term uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.vote(candidate, voter, term, time.Now())
}

// vote compares a vote, which was given at a time or before, with the rules.
func (v *Voters) vote(candidate, voter string, term uint64, at time.Time) {
	v.events++
	h := v.heard[voter]
	if h.leader == "" || h.leader == candidate || h.term >= term {
		return
	}
	silence := at.Sub(h.sent) + 1 // Raft's timeout is a nanosecond shorter at times
	if !mayVote(silence, v.Timeout, v.offered[voter] > h.term) && v.err == nil {
		v.err = fmt.Errorf("%s votes for %s in term %d, at most %v after it heard %s, which leads term %d", voter, candidate, term,
			silence, h.leader, h.term)
	}
}

// Grants compares a grant from memory with the rules.
func (v *Voters) Grants(leader string, voters []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if all := fmt.Sprint(voters); all != v.voters {
		v.voters, v.since = all, time.Now()
	}
	if time.Since(v.since) < v.Timeout {
		return // a lease rests on the voters of the time when it was renewed
	}
	v.events++
	agree := 0
	for _, voter := range voters {
		h := v.heard[voter]
		if voter == leader || h.leader == leader && leaseLeft(v.Timeout, 0, time.Since(h.sent)) > 0 {
			agree++
		}
	}
	if 2*agree <= len(voters) && len(voters) > 0 && v.err == nil {
		v.err = fmt.Errorf("%s grants from memory, and only %d of %d voters have agreed to what it sent a short while ago", leader, agree, len(voters))
	}
}
