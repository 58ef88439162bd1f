package metrics

import (
	"github.com/stintdb/stint/internal/clusterstatus"
)

// raft makes the value of a metric about a cluster's node.
var raft = of(func(r *Snapshot) *clusterstatus.Status { return r.Cluster })

// members makes the values of a metric with the label member.
func members(value func(c *clusterstatus.Status, m *clusterstatus.Member) float64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) {
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

var clusterRows = []Row{{
	Name: "stint_raft_state", Kind: Gauge, When: inCluster, Labels: []string{"state"}, Bound: "starting, follower, candidate, leader, gone",
	Help: "1 for the state of this node, 0 for the others.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if r.Cluster != nil {
			for _, state := range clusterstatus.States() {
				emit(zeroOrOne(r.Cluster.State == state), string(state))
			}
		}
	},
}, {
	Name: "stint_raft_has_leader", Kind: Gauge, When: inCluster, Help: "1 if this node knows a leader; with --groups, a leader of every group.",
	values: raft(func(c *clusterstatus.Status) float64 { return zeroOrOne(c.HasLeader() && len(c.Leaderless()) == 0) }),
}, {
	Name: "stint_raft_healthy", Kind: Gauge, When: inCluster, Help: "1 if this node is the leader, or a follower that is up to date; with --groups, in every group that has a leader.",
	values: raft(func(c *clusterstatus.Status) float64 { return zeroOrOne(c.Healthy) }),
}, {
	Name: "stint_raft_term", Kind: Gauge, When: inCluster, Help: "The current Raft term.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Term) }),
}, {
	Name: "stint_raft_leader_changes_total", Kind: Counter, When: inCluster, Help: "Times that this node became the leader.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.LeaderChanges) }),
}, {
	Name: "stint_raft_leader_contact_seconds", Kind: Gauge, When: inCluster, Help: "Time since the last message from the leader; 0 on the leader.",
	values: raft(func(c *clusterstatus.Status) float64 { return c.LastContact.Seconds() }),
}, {
	Name: "stint_raft_commit_duration_seconds", Kind: Histogram, When: inCluster, Help: "Time from the proposal of a log entry by the leader until it was applied there.",
	distributions: func(r *Snapshot, emit func(Distribution, ...string)) {
		if r.Cluster != nil {
			l := &r.Cluster.CommitLatency
			emit(Distribution{Bounds: l.Bounds, Counts: l.Counts, Sum: l.Sum})
		}
	},
}, {
	Name: "stint_raft_entries_total", Kind: Counter, When: inCluster, Help: "Raft log entries that this node proposed.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Entries) }),
}, {
	Name: "stint_raft_rounds_total", Kind: Counter, When: inCluster, Help: "Times that this node proposed log entries. With --groups, it proposes the entries of several groups together.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Rounds) }),
}, {
	Name: "stint_raft_log_syncs_total", Kind: Counter, When: inCluster, Help: "Writes to the Raft log that were synced, each with the entries of one or more groups. 0 with --cluster-log boltdb.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.LogSyncs) }),
}, {
	Name: "stint_raft_decisions_total", Kind: Counter, When: inCluster, Help: "Operations in the log entries that this node has applied since its start, including those that other nodes proposed.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Decisions) }),
}, {
	Name: "stint_raft_denied_locally_total", Kind: Counter, When: inCluster, Help: "Denials and reads that this node answered as the leader without a log entry, because they change nothing.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.DecidedReadOnly) }),
}, {
	Name: "stint_leader_share_decisions_total", Kind: Counter, When: inCluster, Help: "Operations that this node, as the leader, answered from memory without a log entry: see --cluster-ahead.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.DecidedByAllowance) }),
}, {
	Name: "stint_local_decisions_total", Kind: Counter, When: inCluster, Help: "Requests that this node granted from tokens that it holds in memory: see --cluster-ahead.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.LocalDecisions) }),
}, {
	Name: "stint_lent_tokens", Kind: Gauge, When: inCluster, Help: "Tokens that this node holds and has not spent.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.LentTokens) }),
}, {
	Name: "stint_held_keys", Kind: Gauge, When: inCluster, Help: "Keys of which this node holds tokens, or held tokens a moment ago.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.HeldKeys) }),
}, {
	Name: "stint_lends_total", Kind: Counter, When: inCluster, Help: "Times that this node set tokens of a key aside in its memory, or gave them back.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Lends) }),
}, {
	Name: "stint_voided_tokens_total", Kind: Counter, When: inCluster, Help: "Tokens that count as spent because the node that held them stopped without giving them back. The leader counts them.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.VoidedTokens) }),
}, {
	Name: "stint_raft_forwarded_total", Kind: Counter, When: inCluster, Help: "Calls that this node sent to the leader. A call is a group of operations that a client sent together.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Forwarded) }),
}, {
	Name: "stint_raft_uncertain_total", Kind: Counter, When: inCluster, Help: "Calls answered UNCERTAIN: they may have been executed.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.UncertainOutcomes) }),
}, {
	Name: "stint_raft_no_leader_total", Kind: Counter, When: inCluster, Help: "Calls answered CLUSTERDOWN.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.NoLeaderOutcomes) }),
}, {
	Name: "stint_raft_commit_index", Kind: Gauge, When: inCluster, Help: "Index of the last log entry that is known to be stored by a majority.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.CommitIndex) }),
}, {
	Name: "stint_raft_applied_index", Kind: Gauge, When: inCluster, Help: "Index of the last log entry applied on this node.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.AppliedIndex) }),
}, {
	Name: "stint_raft_applied_lag", Kind: Gauge, When: inCluster, Help: "Committed log entries not yet applied on this node.",
	values: raft(func(c *clusterstatus.Status) float64 { return Lag(c.CommitIndex, c.AppliedIndex) }),
}, {
	Name: "stint_raft_log_bytes", Kind: Gauge, When: inCluster, Help: "Bytes written to the Raft log since the last snapshot, or since the start of this node if that is later.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.LogBytes) }),
}, {
	Name: "stint_raft_snapshot_index", Kind: Gauge, When: inCluster, Help: "Index of the last log entry in the last snapshot.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.LastSnapshotIndex) }),
}, {
	Name: "stint_raft_disk_stalled", Kind: Gauge, When: inCluster, Help: "1 while a write to the Raft log takes longer than --cluster-disk-timeout.",
	values: raft(func(c *clusterstatus.Status) float64 { return zeroOrOne(c.DiskStalled) }),
}, {
	Name: "stint_raft_members", Kind: Gauge, When: inCluster, Help: "Members of the cluster, including this node.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(len(c.Members)) }),
}, {
	Name: "stint_raft_member_reachable", Kind: Gauge, When: inCluster, Labels: []string{"member"}, Bound: boundMembers,
	Help:   "1 if this node can reach the member.",
	values: members(func(_ *clusterstatus.Status, m *clusterstatus.Member) float64 { return zeroOrOne(m.Reachable) }),
}, {
	Name: "stint_raft_member_lag", Kind: Gauge, When: inCluster, Labels: []string{"member"}, Bound: boundMembers,
	Help: "Committed log entries not yet applied on the member, by its last report to this node.",
	values: members(func(c *clusterstatus.Status, m *clusterstatus.Member) float64 {
		return Lag(c.CommitIndex, m.AppliedIndex)
	}),
}, {
	Name: "stint_raft_member_contact_seconds", Kind: Gauge, When: inCluster, Labels: []string{"member"}, Bound: boundMembers,
	Help: "Time since the last message from the member; 0 for this node.",
	values: members(func(_ *clusterstatus.Status, m *clusterstatus.Member) float64 {
		return max(0, m.LastContact).Seconds()
	}),
}}

// Lag is the number of committed entries that are not applied. It is 0 if applied is ahead of the commit index that
// this node knows.
func Lag(committed, applied uint64) float64 {
	if applied >= committed {
		return 0
	}
	return float64(committed - applied)
}
