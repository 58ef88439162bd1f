package info

import (
	"fmt"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/command/ops"
)

// replication describes a cluster in Redis's fields for replication.
func (s *Source) replication() []field {
	if s.Env.Cluster == nil {
		return []field{{"role", "master"}, {"connected_slaves", 0}, {"master_repl_offset", 0}}
	}
	st := s.Env.Cluster.Status()
	if st.State != clusterstatus.Leader {
		host, port := ops.HostPort(st.LeaderClientAddr)
		link := "down"
		if st.Healthy {
			link = "up"
		}
		return []field{
			{"role", "slave"}, {"master_host", host}, {"master_port", port}, {"master_link_status", link},
			{"master_last_io_seconds_ago", int64(st.LastContact / time.Second)}, {"master_sync_in_progress", zeroOrOne(st.HasLeader() && !st.Healthy)}, {"slave_repl_offset", st.AppliedIndex},
			{"slave_read_only", 1}, {"connected_slaves", 0}, {"master_repl_offset", st.AppliedIndex},
		}
	}
	followers := ops.Followers(&st)
	fields := []field{{"role", "master"}, {"connected_slaves", len(followers)}}
	for i, f := range followers {
		host, port := ops.HostPort(f.ClientAddr)
		fields = append(fields, field{fmt.Sprintf("slave%d", i),
			fmt.Sprintf("ip=%s,port=%d,state=online,offset=%d,lag=%d", host, port, f.AppliedIndex, f.LastContact/time.Second)})
	}
	return append(fields, field{"master_repl_offset", st.CommitIndex})
}

func (s *Source) cluster() []field {
	if s.Env.Cluster == nil {
		return []field{{"cluster_enabled", 0}}
	}
	st := s.Env.Cluster.Status()
	return []field{
		{"cluster_enabled", 1}, {"cluster_id", st.ClusterID}, {"node_id", st.NodeID}, {"raft_state", st.State}, {"raft_healthy", zeroOrOne(st.Healthy)}, {"raft_term", st.Term},
		{"leader_id", st.LeaderID}, {"leader_client_addr", st.LeaderClientAddr}, {"leader_last_contact_ms", st.LastContact.Milliseconds()},
		{"raft_last_log_index", st.LastLogIndex}, {"raft_commit_index", st.CommitIndex}, {"raft_applied_index", st.AppliedIndex},
		{"raft_last_snapshot_index", st.LastSnapshotIndex}, {"raft_log_bytes", st.LogBytes}, {"raft_disk_stalled", zeroOrOne(st.DiskStalled)},
		{"cluster_time_usec", st.Time / int64(time.Microsecond)}, {"raft_entries", st.Entries}, {"raft_rounds", st.Rounds}, {"raft_log_syncs", st.LogSyncs}, {"decisions", st.Decisions},
		{"denied_locally", st.DecidedReadOnly}, {"decided_in_share", st.DecidedByAllowance}, {"forwarded", st.Forwarded}, {"uncertain_outcomes", st.UncertainOutcomes},
		{"no_leader_outcomes", st.NoLeaderOutcomes}, {"leader_changes", st.LeaderChanges}, {"cluster_nodes", len(st.Members)}, {"cluster_format_version", st.FormatVersion},
		{"local_decisions", st.LocalDecisions}, {"lent_tokens", st.LentTokens}, {"held_keys", st.HeldKeys}, {"lends", st.Lends}, {"voided_tokens", st.VoidedTokens},
	}
}
