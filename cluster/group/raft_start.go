package group

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/raft"
)

// raftTimeout bounds one message of Raft's.
const raftTimeout = 2 * time.Second

func (g *Group) startRaft() error {
	logger := newRaftLogger(g.log.Logger)
	config := raft.DefaultConfig()
	config.LocalID = g.raft.id
	config.Logger = logger
	config.HeartbeatTimeout, config.ElectionTimeout = g.opt.Heartbeat, g.opt.Heartbeat
	// How long a leader that reaches no majority goes on trying: nearly as long as others wait before they elect
	// another, or a moment without processor time would cost an election. It decides nothing in that time, because
	// nothing is committed, and answers nothing without its lease, which is separate from Raft's.
	config.LeaderLeaseTimeout = g.opt.Heartbeat * 9 / 10
	config.CommitTimeout = g.opt.Heartbeat / 6
	config.SnapshotThreshold = math.MaxUint64 >> 1 // compactLog counts bytes instead
	config.SnapshotInterval = time.Hour
	config.TrailingLogs = minTrailing
	config.NoLegacyTelemetry = true
	config.ShutdownOnRemove = false // it would leave a node without Raft, which joins again and is given a vote
	stream := g.peers.RaftStream()
	// One message to a follower at a time: entries grow instead of queueing. Raft's pipeline brings nothing beside that, and
	// a node that ends while its pipeline is full never does.
	g.raft.transport.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: raftTimeout, Logger: logger, MsgpackUseNewTimeFormat: true,
	})
	cache, err := raft.NewLogCache(64, readableLog{g.logs, g.raft, g.opt.Fail})
	if err != nil {
		return err
	}
	g.raft.Raft, err = newRaft(config, g.fsm, cache, g.raft.votes(&g.opt), g.opt.Disk.Snapshots(), g.raft.transport)
	if err != nil {
		if g.fsm.Broken != nil { // Raft only says that it could not load it
			err = g.fsm.Broken
		}
		return errors.Join(fmt.Errorf("the cluster's log: %w", err), g.raft.transport.Close())
	}
	g.raft.running.Store(true)
	g.raft.RegisterObserver(raft.NewObserver(nil, false, g.leader.observe))
	return nil
}

// observe is a filter of Raft's observations, which is called at once and takes no time: nothing is to be delivered.
func (f *leaderFinder) observe(o *raft.Observation) bool {
	switch o.Data.(type) {
	case raft.LeaderObservation, raft.RaftState:
		f.changed.Broadcast()
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
