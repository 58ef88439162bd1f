package raftnode

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// stableStore is the store of Raft's terms and votes. It refuses a vote while a leader may have a lease that rests on
// this node:
//   - For a heartbeat timeout after the start of a node that was a member. The node may have confirmed a leader's lease
//     just before it ended, and has forgotten that leader.
//   - If a leader was heard while the term of the vote was written. Raft looks for a leader only before that, and
//     heartbeats do not wait for Raft's main loop.
type stableStore struct {
	raft.StableStore
	votesFrom time.Duration // on the monotonic clock; 0 for a node that was no member
	raft      *Node
}

// votes is the store of terms and votes for Raft.
func (n *Node) votes(stable raft.StableStore, logs raft.LogStore) raft.StableStore {
	s := stableStore{StableStore: retryingVotes{durableTerms{stable, n.entries}, n, n.log}, raft: n}
	if last, err := logs.LastIndex(); err != nil || last > 0 { // otherwise the node has confirmed nothing
		s.votesFrom = n.heartbeat
	}
	return s
}

// lastVoteTerm is the key under which Raft keeps the term of a vote, before it gives the vote.
const lastVoteTerm = "LastVoteTerm"

// SetUint64 implements raft.StableStore. A candidate votes for itself at once: if it stands so soon, the leader has
// offered it the leadership, and given up its lease.
func (s stableStore) SetUint64(key []byte, value uint64) error {
	if string(key) == lastVoteTerm {
		if err := s.mayVote(); err != nil {
			return err
		}
	}
	return s.StableStore.SetUint64(key, value)
}

func (s stableStore) mayVote() error {
	// Raft refuses heartbeats of an older term than the vote's from now on. Those that it compared with the term before
	// are handled to their end, or one could renew a lease after the vote.
	s.raft.hearing.Lock()
	s.raft.hearing.Unlock() //nolint:staticcheck // it only waits
	leader, _ := s.raft.LeaderWithID()
	switch {
	case s.raft.State() == raft.Candidate:
		return nil
	case s.raft.clock.Mono() < s.votesFrom:
		return errJustStarted
	case leader != "" && !s.raft.isOffered:
		return errLeaderHeard
	}
	return nil
}

var (
	errJustStarted = errors.New("this node was started a moment ago and does not vote yet")
	errLeaderHeard = errors.New("this node has heard the leader again and does not vote for another node")
)
