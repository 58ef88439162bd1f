package command

import "time"

// Membership is the door to the cluster this server is a node of. A server that stands alone has none. Its methods may
// be called from any goroutine and never wait; each done is called once, from another goroutine.
type Membership interface {
	// Status is how the cluster is doing as this node knows it. It is cheap enough for every INFO, CLUSTER and scrape;
	// the caller may keep it.
	Status() ClusterStatus
	// Redirects reports whether this node sends clients to the leader (--redirect moved, and it is not the leader)
	// instead of asking the leader for them, and where to: "" while no leader is known. It is asked for every command.
	Redirects() (leader string, redirect bool)

	// Add makes a node a member, or a non-voter a voter. Addr is where other nodes reach it.
	Add(id, addr string, voter bool, done func(error))
	// Remove ends a membership. It refuses what would leave the cluster without a quorum.
	Remove(id string, done func(error))
	// Transfer hands leadership to a node, or with "" to the one that is best off.
	Transfer(id string, done func(error))
	// Snapshot has this node write a snapshot and cut its log.
	Snapshot(done func(error))

	// Wait tells, within timeout (0 is none), how many other nodes hold everything this node has acknowledged so far:
	// as soon as there are replicas of them, or else at the timeout. It does not wait for more nodes than there are.
	Wait(replicas int, timeout time.Duration, done func(acknowledged int))
	// Barrier calls done once this node's own state holds everything acknowledged anywhere in the cluster before the
	// call, or with the reason why that can't be known.
	Barrier(done func(error))
}

// ClusterState is the part a node plays in its cluster at the moment.
type ClusterState string

// The states.
const (
	ClusterStarting  ClusterState = "starting"  // looks for its cluster, or reads its own log
	ClusterFollower  ClusterState = "follower"  // follows a leader
	ClusterCandidate ClusterState = "candidate" // has no leader and asks to become it
	ClusterLeader    ClusterState = "leader"    // decides
	ClusterGone      ClusterState = "gone"      // removed from the cluster, or shut down
)

// ClusterStatus is a cluster as one of its nodes sees it. Counters are of this node, since it was started.
type ClusterStatus struct {
	ClusterID string // the same on every node, "" until the cluster has been formed
	NodeID    string // --node-id
	State     ClusterState
	Term      uint64

	LeaderID         string        // "" while none is known, as are the two below
	LeaderAddr       string        // where other nodes reach it
	LeaderClientAddr string        // where clients reach it
	LastLeaderID     string        // the leader, or the last one there was, "" if this node has known none
	LastContact      time.Duration // since the leader was last heard of; 0 on the leader

	LastLogIndex      uint64
	CommitIndex       uint64
	AppliedIndex      uint64
	LastSnapshotIndex uint64
	LastSnapshot      time.Time // zero if there is none
	LogBytes          int64     // of the Raft log on disk
	DiskStalled       bool      // a write of the log takes longer than --cluster-disk-timeout
	Time              int64     // the cluster's clock: of the last decision applied here, nanoseconds since the Unix epoch

	Entries           int64 // log entries proposed
	Decisions         int64 // operations in them
	DeniedLocally     int64 // operations answered from applied state, without an entry
	Forwarded         int64 // operations this node asked the leader for
	UncertainOutcomes int64 // operations answered UNCERTAIN
	NoLeaderOutcomes  int64 // operations answered CLUSTERDOWN
	LeaderChanges     int64 // how often this node has become the leader
	CommitLatency     Latency

	Members []ClusterMember // in the order of their ids, this node among them
}

// ClusterMember is one node of a cluster.
type ClusterMember struct {
	ID           string
	Addr         string // where other nodes reach it
	ClientAddr   string // where clients reach it, "" if not known yet
	Voter        bool
	Leader       bool
	Reachable    bool          // as far as this node knows; itself always
	AppliedIndex uint64        // as this node last heard, 0 if it never did
	LastContact  time.Duration // since it was last heard of; 0 for itself
}

// Latency counts how long something took: Counts[i] times at most Bounds[i] and longer than the bound before, and in the
// last of Counts, which has no bound, longer than all of them.
type Latency struct {
	Bounds []time.Duration
	Counts []int64 // one more than Bounds
	Sum    time.Duration
}

// HasLeader reports whether a leader is known.
func (s *ClusterStatus) HasLeader() bool { return s.LeaderID != "" }
