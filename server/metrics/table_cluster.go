package metrics

import "github.com/stintdb/stint/server/command"

// raft is the value of a metric of a cluster's node.
func raft(value func(c *command.ClusterStatus) float64) func(*Reading, func(float64, ...string)) {
	return func(r *Reading, emit func(float64, ...string)) {
		if r.Cluster != nil {
			emit(value(r.Cluster))
		}
	}
}

// members is the values of a metric with the label member.
func members(value func(c *command.ClusterStatus, m *command.ClusterMember) float64) func(*Reading, func(float64, ...string)) {
	return func(r *Reading, emit func(float64, ...string)) {
		if r.Cluster == nil {
			return
		}
		for i := range r.Cluster.Members {
			m := &r.Cluster.Members[i]
			emit(value(r.Cluster, m), Label(m.ID))
		}
	}
}

const (
	inCluster    = "in a cluster"
	boundMembers = "the members of the cluster"
)

var clusterStates = []command.ClusterState{command.ClusterStarting, command.ClusterFollower, command.ClusterCandidate, command.ClusterLeader, command.ClusterGone}

var clusterRows = []Row{{
	Name: "stint_raft_state", Kind: Gauge, When: inCluster, Labels: []string{"state"}, Bound: "starting, follower, candidate, leader, gone",
	Help: "1 for the part this node plays, 0 for the others.",
	values: func(r *Reading, emit func(float64, ...string)) {
		if r.Cluster != nil {
			for _, state := range clusterStates {
				emit(zeroOrOne(r.Cluster.State == state), string(state))
			}
		}
	},
}, {
	Name: "stint_raft_has_leader", Kind: Gauge, When: inCluster, Help: "1 if this node knows a leader.",
	values: raft(func(c *command.ClusterStatus) float64 { return zeroOrOne(c.HasLeader()) }),
}, {
	Name: "stint_raft_term", Kind: Gauge, When: inCluster, Help: "The term.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.Term) }),
}, {
	Name: "stint_raft_leader_changes_total", Kind: Counter, When: inCluster, Help: "How often this node has become the leader. Over all nodes together, how often there was a new one.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.LeaderChanges) }),
}, {
	Name: "stint_raft_leader_contact_seconds", Kind: Gauge, When: inCluster, Help: "Time since the leader was last heard of; 0 on the leader.",
	values: raft(func(c *command.ClusterStatus) float64 { return c.LastContact.Seconds() }),
}, {
	Name: "stint_raft_commit_duration_seconds", Kind: Histogram, When: inCluster, Help: "Time from proposing an entry of the log until it was applied, on the leader.",
	distributions: func(r *Reading, emit func(Distribution, ...string)) {
		if r.Cluster != nil {
			l := &r.Cluster.CommitLatency
			emit(Distribution{Bounds: l.Bounds, Counts: l.Counts, Sum: l.Sum})
		}
	},
}, {
	Name: "stint_raft_entries_total", Kind: Counter, When: inCluster, Help: "Entries of the log this node proposed.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.Entries) }),
}, {
	Name: "stint_raft_decisions_total", Kind: Counter, When: inCluster, Help: "Operations in those entries: divided by stint_raft_entries_total, how many share an entry.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.Decisions) }),
}, {
	Name: "stint_raft_denied_locally_total", Kind: Counter, When: inCluster, Help: "Operations this node denied, or answered, from its own state without an entry.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.DeniedLocally) }),
}, {
	Name: "stint_raft_forwarded_total", Kind: Counter, When: inCluster, Help: "Operations this node asked the leader for.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.Forwarded) }),
}, {
	Name: "stint_raft_uncertain_total", Kind: Counter, When: inCluster, Help: "Operations answered UNCERTAIN: they may have been carried out.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.UncertainOutcomes) }),
}, {
	Name: "stint_raft_no_leader_total", Kind: Counter, When: inCluster, Help: "Operations answered CLUSTERDOWN.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.NoLeaderOutcomes) }),
}, {
	Name: "stint_raft_commit_index", Kind: Gauge, When: inCluster, Help: "The last entry of the log known to be kept by a majority.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.CommitIndex) }),
}, {
	Name: "stint_raft_applied_index", Kind: Gauge, When: inCluster, Help: "The last entry applied here.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.AppliedIndex) }),
}, {
	Name: "stint_raft_applied_lag", Kind: Gauge, When: inCluster, Help: "Entries kept by a majority and not applied here yet.",
	values: raft(func(c *command.ClusterStatus) float64 { return Lag(c.CommitIndex, c.AppliedIndex) }),
}, {
	Name: "stint_raft_log_bytes", Kind: Gauge, When: inCluster, Help: "Size of the log on disk.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.LogBytes) }),
}, {
	Name: "stint_raft_snapshot_index", Kind: Gauge, When: inCluster, Help: "The last entry in the last snapshot.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(c.LastSnapshotIndex) }),
}, {
	Name: "stint_raft_disk_stalled", Kind: Gauge, When: inCluster, Help: "1 while a write of the log takes longer than --cluster-disk-timeout.",
	values: raft(func(c *command.ClusterStatus) float64 { return zeroOrOne(c.DiskStalled) }),
}, {
	Name: "stint_raft_members", Kind: Gauge, When: inCluster, Help: "Members of the cluster, this node among them.",
	values: raft(func(c *command.ClusterStatus) float64 { return float64(len(c.Members)) }),
}, {
	Name: "stint_raft_member_reachable", Kind: Gauge, When: inCluster, Labels: []string{"member"}, Bound: boundMembers,
	Help:   "1 if the member can be reached, as far as this node knows.",
	values: members(func(_ *command.ClusterStatus, m *command.ClusterMember) float64 { return zeroOrOne(m.Reachable) }),
}, {
	Name: "stint_raft_member_lag", Kind: Gauge, When: inCluster, Labels: []string{"member"}, Bound: boundMembers,
	Help: "Entries kept by a majority and not applied on the member yet, as this node last heard.",
	values: members(func(c *command.ClusterStatus, m *command.ClusterMember) float64 {
		return Lag(c.CommitIndex, m.AppliedIndex)
	}),
}, {
	Name: "stint_raft_member_contact_seconds", Kind: Gauge, When: inCluster, Labels: []string{"member"}, Bound: boundMembers,
	Help: "Time since the member was last heard of; 0 for this node.",
	values: members(func(_ *command.ClusterStatus, m *command.ClusterMember) float64 {
		return max(0, m.LastContact).Seconds()
	}),
}}

// Lag is how many entries are behind: none, if applied is ahead of what this node knows to be committed.
func Lag(committed, applied uint64) float64 {
	if applied >= committed {
		return 0
	}
	return float64(committed - applied)
}
