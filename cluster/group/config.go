package group

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Config has the settings of a group, and the machine's store, disk and clocks.
type Config struct {
	Number    uint32        // of the group
	Groups    int           // of keys in a new cluster; below 2 this group has all keys
	Replicas  int           // of each group of keys in a new cluster; 0 for one on every node
	ID        raft.ServerID // of this member: the node's name and its incarnation
	Advertise string        // how other nodes reach this one
	Client    string        // where clients reach it

	// ImportName returns the name of the state with which a new cluster begins, "" for none; nil for a group of keys.
	ImportName   func() string
	AwaitsImport func() bool // reports whether the cluster still lacks that state, and so decides nothing

	Store *store.Store // empty
	Disk  Storage
	Log   *oncelog.Log
	Fail  func(error) // called when this node cannot apply the log further

	Heartbeat time.Duration // followers elect another leader when they have not heard of it for this long, at least
	// Beats is the period at whose multiples the groups of a node send the messages that can wait; 0 for a group that is
	// alone.
	Beats         time.Duration
	DecideTimeout time.Duration // no call takes longer
	DiskTimeout   time.Duration // a leader whose log takes longer for one write gives up
	LogBytes      int64         // of the log before a snapshot takes its place
	MeetEvery     time.Duration // how often nodes ask each other how they are

	Ahead time.Duration // how far ahead this process holds tokens of keys in demand; 0 holds none
	// Allowance reports whether the leader may take tokens in its memory; nil for whenever Ahead is not 0.
	Allowance func() bool

	// Report returns the traffic of this node's own clients; nil if it is not counted.
	Report func() *clusterstatus.Report

	Wall func() time.Time // this node's own clock
	// Passed returns the time that has passed on this node; nil outside tests that move the time.
	Passed func() time.Duration
	// SinceBoot is how long the machine has been up, and a name of this boot.
	SinceBoot func() (boot string, up time.Duration)

	Additions []fsm.Addition                // that this node knows
	IsRemoved func(node raft.ServerID) bool // reports whether an operator removed a node from the cluster
	// IsToVote reports whether a member is to have a vote, and whether that is known; nil if the group's own log says so.
	IsToVote func(member raft.ServerID) (votes, known bool)

	Slices *raftnode.Slices // of the machine

	Rounds *propose.Rounds // of this node's groups of keys; nil without any

	Turns Turns // of clients that wait for keys; nil if none do
}

// report returns what Report returns, or nil without it.
func (c *Config) report() *clusterstatus.Report {
	if c.Report == nil {
		return nil
	}
	return c.Report()
}

// Storage is a group's durable storage.
type Storage interface {
	Logs() raft.LogStore
	Stable() raft.StableStore
	Snapshots() raft.SnapshotStore
	// SaveClock saves the cluster's time together with this node's own clocks.
	SaveClock(c raftstore.SavedClock) error
	LoadClock() (raftstore.SavedClock, error)
}
