package raftnode

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// stableStore is the store of Raft's terms and votes. A node that was a member votes for nobody for a heartbeat
// timeout after its start: it may have confirmed a leader's lease just before it ended, and has forgotten that
// leader.
type stableStore struct {
	raft.StableStore
	votesFrom time.Duration
	raft      *Node
}

// votes is the store of terms and votes for Raft.
func (n *Node) votes(stable raft.StableStore, logs raft.LogStore) raft.StableStore {
	kept := retryingVotes{durableTerms{stable, n.entries}, n, n.log}
	if last, err := logs.LastIndex(); err == nil && last == 0 {
		return kept // the node has confirmed nothing
	}
	return stableStore{kept, n.heartbeat, n}
}

// lastVoteTerm is the key under which Raft keeps the term of a vote, before it gives the vote.
const lastVoteTerm = "LastVoteTerm"

// SetUint64 implements raft.StableStore. A candidate votes for itself at once: it only stands so soon because the
// leader offered it leadership, and has given up its lease.
func (s stableStore) SetUint64(key []byte, value uint64) error {
	if string(key) == lastVoteTerm && s.raft.clock.Mono() < s.votesFrom && s.raft.State() != raft.Candidate {
		return errJustStarted
	}
	return s.StableStore.SetUint64(key, value)
}

var errJustStarted = errors.New("this node was started a moment ago and does not vote yet")
