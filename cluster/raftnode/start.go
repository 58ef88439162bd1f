package raftnode

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/asynclog"
	"github.com/stintdb/stint/cluster/rafttransport"
	"github.com/stintdb/stint/cluster/transport"
)

// MinTrailing is how many entries Raft leaves at least in the log when it takes a snapshot.
const MinTrailing = 64

// MessageTimeout bounds one message of Raft's.
const MessageTimeout = 2 * time.Second

// StartConfig is what Raft needs to start.
type StartConfig struct {
	Machine   machine
	Logs      raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Messenger transport.Messenger // carries messages between the group's members; none arrive before Start
	// Beats is the time at whose multiples this group and others send messages that can wait; 0 for a group that is alone.
	Beats   time.Duration
	Slices  *Slices                      // of the machine
	Latency func() time.Duration         // of an entry, about
	Observe func(*raft.Observation) bool // a filter of Raft's observations, which sees each one and delivers none
}

// NewLinks returns a node's connections for Raft's messages, of all its groups.
func NewLinks(peers *transport.Peers) *rafttransport.Links {
	return rafttransport.New(peers, MessageTimeout)
}

// Start reads the log and starts Raft.
func (n *Node) Start(s StartConfig) error {
	logger := newRaftLogger(n.log)
	config := raft.DefaultConfig()
	config.LocalID = n.ID
	config.Logger = logger
	config.HeartbeatTimeout, config.ElectionTimeout = n.heartbeat, n.heartbeat
	config.LeaderLeaseTimeout = n.leaderTimeout()
	config.CommitTimeout = n.heartbeat / 6
	config.SnapshotThreshold = math.MaxUint64 >> 1 // compactLog counts bytes instead
	config.SnapshotInterval = time.Hour
	config.TrailingLogs = MinTrailing
	config.NoLegacyTelemetry = true
	config.ShutdownOnRemove = false // otherwise a node without Raft would be left, which joins again and is given a vote
	n.Transport.Messenger = s.Messenger
	cache, err := raft.NewLogCache(64, n.Readable(comparedLog{s.Logs, s.Snapshots, n}))
	if err != nil {
		return err
	}
	if n.entries, err = asynclog.New(cache, n.leads, n.log); err != nil {
		return err
	}
	durable := &durableMachine{machine: s.Machine, log: n.entries, onRestore: n.restored.Store, slices: s.Slices, node: n}
	s.Messenger.Inspect(n.inspect)
	n.Raft, err = newRaft(config, durable, n.entries, n.votes(s.Stable, s.Logs), snapshots{s.Snapshots},
		durableTransport{n.Transport, n.entries, n.leadsIn, n.isNeeded, durable, s.Slices, s.Latency, s.Beats})
	if err != nil {
		n.entries.Close()
		return err
	}
	n.running.Store(true)
	n.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch data := o.Data.(type) {
		case raft.RaftState:
			n.noteState(data)
		case raft.RequestVoteRequest: // Raft answers it after this
			n.isOffered = data.LeadershipTransfer
		}
		return s.Observe(o)
	}))
	return nil
}

// newRaft is raft.NewRaft, with an error in place of a panic.
func newRaft(config *raft.Config, fsm raft.FSM, logs raft.LogStore, stable raft.StableStore,
	snapshots raft.SnapshotStore, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return raft.NewRaft(config, fsm, logs, stable, snapshots, transport)
}
