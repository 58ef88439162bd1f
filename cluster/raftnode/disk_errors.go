package raftnode

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
)

// Raft panics if it cannot write its term or read its log. While Raft starts, the panic becomes an error (newRaft).
// Later Raft never sees the disk fail: a vote is written again until it is on disk, and a log that cannot be read ends
// the node with a sentence.

// retryingVotes are the votes as Raft sees them. While they cannot be written, Raft's main loop waits here: the node
// neither votes nor follows. It does not lead either, because Raft steps down before it writes a term.
type retryingVotes struct {
	raft.StableStore
	raft *Node
	log  *slog.Logger
}

// votesRetry is the pause between two attempts of retryingVotes.
const votesRetry = 100 * time.Millisecond

// Set implements raft.StableStore.
func (v retryingVotes) Set(key, value []byte) error {
	return v.persist(func() error { return v.StableStore.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (v retryingVotes) SetUint64(key []byte, value uint64) error {
	return v.persist(func() error { return v.StableStore.SetUint64(key, value) })
}

func (v retryingVotes) persist(set func() error) error {
	err := set()
	if err == nil || !v.raft.running.Load() {
		return err
	}
	v.log.Error("the disk refuses this node's vote, so the node takes no part in the cluster until it can be written", "reason",
		err)
	for err != nil {
		select {
		case <-v.raft.Ctx.Done():
			runtime.Goexit() // with an error Raft would panic
		case <-time.After(votesRetry):
		}
		err = set()
	}
	v.log.Info("the disk accepts this node's votes again")
	return nil
}

// readableLog is the log as Raft sees it: an entry that cannot be read ends the node.
type readableLog struct {
	raft.LogStore
	raft *Node
	fail func(error)
}

// Readable returns a log as Raft is to see it.
func (n *Node) Readable(log raft.LogStore) raft.LogStore { return readableLog{log, n, n.fail} }

// GetLog implements raft.LogStore.
func (l readableLog) GetLog(index uint64, entry *raft.Log) error {
	err := l.LogStore.GetLog(index, entry)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) || !l.raft.running.Load() {
		return err
	}
	l.fail(fmt.Errorf("entry %d of the log does not read: %w; %w", index, err, raftstore.ErrLostState))
	runtime.Goexit() // with an error Raft would panic
	return err
}

// IsMonotonic implements raft.MonotonicLogStore.
func (l readableLog) IsMonotonic() bool { return isMonotonic(l.LogStore) }
