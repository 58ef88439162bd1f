package group

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/raft"
)

// minTrailing is how many entries Raft leaves in the log behind a snapshot, at least.
const minTrailing = 64

// raftTimeout bounds one message of Raft's.
const raftTimeout = 2 * time.Second

// raftStart is what Raft needs to start.
type raftStart struct {
	machine   raft.FSM
	logs      raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	stream    raft.StreamLayer
	observe   func(*raft.Observation) bool // a filter of Raft's observations that delivers none
}

// start reads the log and starts Raft.
func (g *raftNode) start(s raftStart) error {
	logger := newRaftLogger(g.log)
	config := raft.DefaultConfig()
	config.LocalID = g.id
	config.Logger = logger
	config.HeartbeatTimeout, config.ElectionTimeout = g.heartbeat, g.heartbeat
	// How long a leader that reaches no majority goes on trying: nearly as long as others wait before they elect
	// another, or a moment without processor time would cost an election. It decides nothing in that time, because
	// nothing is committed, and answers nothing without its lease, which is separate from Raft's.
	config.LeaderLeaseTimeout = g.heartbeat * 9 / 10
	config.CommitTimeout = g.heartbeat / 6
	config.SnapshotThreshold = math.MaxUint64 >> 1 // compactLog counts bytes instead
	config.SnapshotInterval = time.Hour
	config.TrailingLogs = minTrailing
	config.NoLegacyTelemetry = true
	config.ShutdownOnRemove = false // it would leave a node without Raft, which joins again and is given a vote
	// One message to a follower at a time: entries grow instead of queueing. Raft's pipeline brings nothing beside that, and
	// a node that ends while its pipeline is full never does.
	g.transport.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: s.stream, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: raftTimeout, Logger: logger, MsgpackUseNewTimeFormat: true,
	})
	cache, err := raft.NewLogCache(64, g.readable(s.logs))
	if err != nil {
		return err
	}
	g.Raft, err = newRaft(config, s.machine, cache, g.votes(s.stable, s.logs), s.snapshots, g.transport)
	if err != nil {
		return err
	}
	g.running.Store(true)
	g.RegisterObserver(raft.NewObserver(nil, false, s.observe))
	return nil
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
