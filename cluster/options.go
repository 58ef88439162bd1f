package cluster

import (
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/router"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Options configure a node.
type Options struct {
	Node            string   // its name, the same at every start; no other node has it
	Listen          string   // the address at which it takes connections from other nodes
	Advertise       string   // the address at which they reach it; one of Peers, unless those have names
	Peers           []string // the addresses of the nodes that form the cluster, and names of DNS that have them; see [peers.IsName]
	BootstrapExpect int      // a cluster is formed once this many nodes have met; 0 to only join one
	Client          string   // where clients reach this node; the other nodes pass it on to clients

	Store *store.Store // empty
	Disk  Disk

	// Groups is the number of groups of keys; below 2, group 0 has all keys. A cluster keeps the number that it was
	// formed with, and refuses nodes with another number. The next six fields are only needed with several groups.
	Groups   int
	Replicas int // of each group of keys, in a new cluster; 0 for one on every node
	// ClearGroup removes the rest of a group that has left this node, before it begins again.
	ClearGroup func(number int) error
	// OpenGroup opens the directory of a group of keys, which exists unless it is new.
	OpenGroup func(number int, isNew bool) (keygroups.Disk, error)
	KeyStores []*store.Store     // of the groups of keys, empty; Store then has no keys
	NewTurns  func() group.Turns // nil if no clients wait for keys
	// Shared are patterns of package glob, of keys whose limits requests of all groups may have in common.
	Shared []string

	// ImportName names the state that this node brings to a new cluster by Node.Import, such as its time; "" for none.
	// The cluster decides nothing before it has that state.
	ImportName string

	Log *slog.Logger

	Heartbeat     time.Duration // followers elect another leader when they have not heard of it for this long, at least
	DecideTimeout time.Duration // no call takes longer
	DiskTimeout   time.Duration // a leader whose log takes longer for one write gives up
	LogBytes      int64         // the log's size at which a snapshot takes its place
	MeetEvery     time.Duration // how often nodes ask each other how they are; 0 for a second

	// Unauthenticated bounds the connections that have not greeted yet: separately those from members' addresses, and
	// all others. 0 for 64.
	Unauthenticated int

	Ahead time.Duration // how far ahead this process holds tokens of keys in demand; 0 holds none
	// Allowance reports whether the leader may take tokens in its memory; nil for whenever Ahead is not 0.
	Allowance func() bool

	// Report returns the traffic of this node's own clients, for the other nodes; nil sends them none.
	Report func() *clusterstatus.Report
	// Watched reports whether somebody looks at this node's page, which adds up the Counts of all nodes. Nil without a
	// page.
	Watched func() bool
	Counts  func() *clusterstatus.Counts

	Turns group.Turns // of clients that wait for keys; nil if none do

	Network  transport.Network // nil for TCP without TLS
	Resolver peers.Resolver    // nil for the system's
	Wall     func() time.Time  // this node's own clock; nil for the system's

	// Passed returns the time that has passed on this node. It drives only the cluster's time: leases and timeouts
	// use real time. Nil except in tests that move the time.
	Passed func() time.Duration

	// SinceBoot is how long the machine has been up, and a name of this boot; nil for the system's.
	SinceBoot func() (boot string, up time.Duration)

	additions []fsm.Addition // the additions to formats that this node knows; nil for all of this build
	// onImport, for tests, is called for each part of an import that is on disk, and each group that has its own.
	onImport func(number int)
	// messenger, for tests, returns a messenger for group 0 in place of the usual one, which it is given. It may be
	// nil.
	messenger func(*group.Group, transport.Messenger) transport.Messenger
}

// setDefaults fills in the fields that are not set.
func (o *Options) setDefaults() {
	if o.MeetEvery == 0 {
		o.MeetEvery = time.Second
	}
	if o.Network == nil {
		o.Network = transport.TCP{}
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.SinceBoot == nil {
		o.SinceBoot = sinceBoot
	}
	if o.additions == nil {
		o.additions = fsm.Additions
	}
}

// forGroup returns the configuration of group 0.
func (o *Options) forGroup(id raft.ServerID, log *oncelog.Log, fail func(error)) group.Config {
	return group.Config{
		Groups: o.Groups, Replicas: o.Replicas, ID: id, Advertise: o.Advertise, Client: o.Client, Store: o.Store,
		Disk: o.Disk, Log: log, Fail: fail,
		Heartbeat: o.Heartbeat, DecideTimeout: o.DecideTimeout, DiskTimeout: o.DiskTimeout, LogBytes: o.LogBytes,
		MeetEvery: o.MeetEvery,
		Ahead:     o.Ahead, Allowance: o.Allowance, Report: o.Report, Wall: o.Wall, Passed: o.Passed, SinceBoot: o.SinceBoot,
		Additions: o.additions, Turns: o.Turns, Slices: raftnode.NewSlices(),
	}
}

// forKeyGroups returns the configuration of the groups of keys. common is the configuration of group 0, and the router
// asks the groups that have begun.
func (o *Options) forKeyGroups(common group.Config, r *router.Router) keygroups.Config {
	c := keygroups.Config{
		Node: o.Node, Common: common, Stores: o.KeyStores, Stable: o.Disk.Stable(), Open: o.OpenGroup, Clear: o.ClearGroup,
		Turns: o.NewTurns,
	}
	if r != nil {
		c.Decide = r.Begin
	}
	return c
}

// patterns returns the patterns of --cluster-shared in one text, whatever their order.
func (o *Options) patterns() string {
	return strings.Join(slices.Sorted(slices.Values(o.Shared)), ",")
}
