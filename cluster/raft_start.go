package cluster

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/raft"
)

// raftTimeout bounds one message of Raft's.
const raftTimeout = 2 * time.Second

func (n *Node) startRaft() error {
	logger := newRaftLogger(n.log.Logger)
	config := raft.DefaultConfig()
	config.LocalID = n.id
	config.Logger = logger
	config.HeartbeatTimeout, config.ElectionTimeout = n.opt.Heartbeat, n.opt.Heartbeat
	// How long a leader that reaches no majority goes on trying: nearly as long as others wait before they elect
	// another, or a moment without processor time would cost an election. It decides nothing in that time, because
	// nothing is committed, and answers nothing without its lease, which is separate from Raft's.
	config.LeaderLeaseTimeout = n.opt.Heartbeat * 9 / 10
	config.CommitTimeout = n.opt.Heartbeat / 6
	config.SnapshotThreshold = math.MaxUint64 >> 1 // compactLog counts bytes instead
	config.SnapshotInterval = time.Hour
	config.TrailingLogs = minTrailing
	config.NoLegacyTelemetry = true
	config.ShutdownOnRemove = false // it would leave a node without Raft, which joins again and is given a vote
	stream := n.peers.RaftStream()
	// One message to a follower at a time: entries grow instead of queueing. Raft's pipeline brings nothing beside that, and
	// a node that ends while its pipeline is full never does.
	n.raft.transport.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: raftTimeout, Logger: logger, MsgpackUseNewTimeFormat: true,
	})
	cache, err := raft.NewLogCache(64, readableLog{n.logs, n.raft, n.fail})
	if err != nil {
		return err
	}
	n.raft.Raft, err = newRaft(config, n.fsm, cache, n.stableStore(), n.disk.Snapshots(), n.raft.transport)
	if err != nil {
		if n.fsm.Broken != nil { // Raft only says that it could not load it
			err = n.fsm.Broken
		}
		return errors.Join(fmt.Errorf("the cluster's log: %w", err), n.raft.transport.Close())
	}
	n.raft.running.Store(true)
	n.raft.RegisterObserver(raft.NewObserver(nil, false, n.leaderMoved))
	return nil
}

// leaderMoved is a filter of Raft's observations, which is called at once and takes no time: nothing is to be delivered.
func (n *Node) leaderMoved(o *raft.Observation) bool {
	switch o.Data.(type) {
	case raft.LeaderObservation, raft.RaftState:
		n.leader.changed.Broadcast()
	}
	return false
}

// newRaft is raft.NewRaft, with an error in place of a panic.
func newRaft(config *raft.Config, fsm raft.FSM, logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return raft.NewRaft(config, fsm, logs, stable, snapshots, transport)
}
