package raftnode

import (
	"errors"

	"github.com/hashicorp/raft"
)

// comparedLog is a log in which a follower also finds the last entry of its newest snapshot, without its data. A leader
// sends entries after one that the follower has too. If the follower's entries after its snapshot were never committed,
// then the last entry of the snapshot is the only one that both have, and Raft looks for it in the log, where it is no
// longer. Without it the follower would refuse all entries, and also a snapshot that ends there (isStale), for ever.
//
// A leader must not find this entry. Raft sends a follower the snapshot because the entry is missing from the leader's
// log; otherwise it would send the entry, which has no data. A former leader may find the entry, but does not send it:
// [durableTransport.send] checks the term after the log was read.
type comparedLog struct {
	raft.LogStore
	snapshots raft.SnapshotStore
	node      *Node
}

var _ raft.MonotonicLogStore = comparedLog{}

// GetLog implements raft.LogStore.
func (l comparedLog) GetLog(index uint64, entry *raft.Log) error {
	err := l.LogStore.GetLog(index, entry)
	if !errors.Is(err, raft.ErrLogNotFound) || !l.node.running.Load() || l.node.State() == raft.Leader {
		return err
	}
	all, listErr := l.snapshots.List()
	if listErr != nil || len(all) == 0 || all[0].Index != index {
		return err
	}
	*entry = raft.Log{Index: index, Term: all[0].Term, Type: raft.LogNoop}
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore.
func (l comparedLog) IsMonotonic() bool { return isMonotonic(l.LogStore) }
