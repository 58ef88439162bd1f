package ops

import (
	"fmt"
	"strings"
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var raftRows = []command.Row{{
	Name: "raft", Syntax: "subcommand", Group: "cluster", Summary: "Inspect and change the nodes of a cluster.",
	Sub: []command.Row{
		{Name: "info", Group: "cluster", Summary: "The state of the Raft cluster, as known to this node.",
			Returns: "a map of cluster_id, node_id, state (`starting`, `follower`, `candidate`, `leader` or `gone`), term, leader_id, leader_addr, leader_client_addr, last_contact_ms, last_log_index, commit_index, applied_index, last_snapshot_index, log_bytes, disk_stalled, cluster_time_usec and format_version (the newest that all nodes know).",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous,
			Run: inRaft(runRaftInfo)},
		{Name: "nodes", Group: "cluster", Summary: "The nodes and their replication progress.",
			Returns: "an array with a map for each node of id, addr, client_addr, role (`leader`, with --groups the leader of group 0, `follower` or `nonvoter`), reachable, healthy, applied_index, last_contact_ms, format_version (the newest that the node knows) and unhealthy_groups (the numbers, separated by commas, of the node's groups that have no leader, or in which the node's replica is not healthy).",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous, Run: inRaft(runRaftNodes)},
		{Name: "groups", Group: "cluster", Summary: "The groups of keys of a cluster with --groups, and who leads them.",
			Returns: "an array with a map for each group: group (its number), slots (the first and the last), leader_id (empty while none is known), term, commit_index, applied_index, log_bytes and healthy, voters (the number of reachable voters), nonvoters (the ids of the other members, separated by commas), and with --cluster-replicas also replicas (the ids of all voters). Empty if one leader decides all keys.",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous, Run: inRaft(runRaftGroups)},
		{Name: "add", Syntax: "id addr [NONVOTER]", Group: "cluster",
			Summary: "Add a member to the cluster; can be sent to any node. A NONVOTER (learner) answers requests, but does not count for majorities and never leads.",
			Returns: "`OK`. Sent when a majority has stored the change.", Example: "x 127.0.0.1:1",
			Cost: command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: inRaft(runRaftAdd)},
		{Name: "remove", Syntax: "id", Group: "cluster", Summary: "Remove a member from the cluster; can be sent to any node. It stays removed, even after a restart, until `RAFT ADD` or a start with an empty directory. The command is rejected if the remaining nodes would not have a majority.",
			Returns: "`OK`. Sent when a majority has stored the change.", Example: "x",
			Cost: command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: inRaft(func(m command.Membership, s command.Session, _ *resp.Writer, args [][]byte) {
				awaitCluster(s, func(done func(error)) { m.Remove(string(args[2]), done) })
			})},
		{Name: "transfer", Syntax: "[id]", Group: "cluster", Summary: "Transfer leadership to a node, by default to the most up-to-date node.",
			Returns: "`OK`. Sent when the other node has become the leader.",
			Cost:    command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: inRaft(runRaftTransfer)},
		{Name: "snapshot", Group: "cluster", Summary: "Write a snapshot on this node and truncate its log.",
			Returns: "`OK`. Sent when the snapshot is complete.",
			Cost:    command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: inRaft(func(m command.Membership, s command.Session, _ *resp.Writer, _ [][]byte) { awaitCluster(s, m.Snapshot) })},
	},
}}

func inRaft(run func(m command.Membership, s command.Session, w *resp.Writer, args [][]byte)) func(command.Session, *resp.Writer, [][]byte) {
	return func(s command.Session, w *resp.Writer, args [][]byte) {
		m := s.Server().Membership()
		if m == nil {
			w.Error(command.ErrNoCluster.Error())
			return
		}
		run(m, s, w, args)
	}
}

// awaitCluster waits for a change that the cluster has to make.
func awaitCluster(s command.Session, start func(done func(error))) {
	s.Await(func(done func(error)) {
		start(func(err error) { done(command.ClusterError(err)) })
	})
}

func runRaftAdd(m command.Membership, s command.Session, w *resp.Writer, args [][]byte) {
	voter := len(args) == 4
	if !voter && (len(args) > 5 || !command.IsWord(args[4], "NONVOTER")) {
		w.Error(command.ErrSyntax.Error())
		return
	}
	awaitCluster(s, func(done func(error)) { m.Add(string(args[2]), string(args[3]), voter, done) })
}

func runRaftTransfer(m command.Membership, s command.Session, w *resp.Writer, args [][]byte) {
	to := ""
	switch len(args) {
	case 2:
	case 3:
		to = string(args[2])
	default:
		w.Error(command.ErrSyntax.Error())
		return
	}
	awaitCluster(s, func(done func(error)) { m.Transfer(to, done) })
}

func runRaftInfo(m command.Membership, _ command.Session, w *resp.Writer, _ [][]byte) {
	st := m.Status()
	command.WriteFields(w, []command.Field{
		{Name: "cluster_id", Value: st.ClusterID}, {Name: "node_id", Value: st.NodeID}, {Name: "state", Value: string(st.State)}, {Name: "healthy", Value: st.Healthy}, {Name: "term", Value: int64(st.Term)},
		{Name: "leader_id", Value: st.LeaderID}, {Name: "leader_addr", Value: st.LeaderAddr}, {Name: "leader_client_addr", Value: st.LeaderClientAddr}, {Name: "last_contact_ms", Value: st.LastContact.Milliseconds()},
		{Name: "last_log_index", Value: int64(st.LastLogIndex)}, {Name: "commit_index", Value: int64(st.CommitIndex)}, {Name: "applied_index", Value: int64(st.AppliedIndex)},
		{Name: "last_snapshot_index", Value: int64(st.LastSnapshotIndex)}, {Name: "log_bytes", Value: st.LogBytes}, {Name: "disk_stalled", Value: st.DiskStalled},
		{Name: "cluster_time_usec", Value: st.Time / int64(time.Microsecond)}, {Name: "format_version", Value: int64(st.FormatVersion)},
	})
}

// numbers joins numbers by commas.
func numbers(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]")
}

func runRaftNodes(m command.Membership, _ command.Session, w *resp.Writer, _ [][]byte) {
	st := m.Status()
	w.Array(len(st.Members))
	for _, n := range st.Members {
		role := "follower"
		if n.Leader {
			role = "leader"
		} else if !n.Voter {
			role = "nonvoter"
		}
		command.WriteFields(w, []command.Field{
			{Name: "id", Value: n.ID}, {Name: "addr", Value: n.Addr}, {Name: "client_addr", Value: n.ClientAddr}, {Name: "role", Value: role}, {Name: "reachable", Value: n.Reachable}, {Name: "healthy", Value: n.Healthy && len(n.UnhealthyGroups) == 0},
			{Name: "applied_index", Value: int64(n.AppliedIndex)}, {Name: "last_contact_ms", Value: n.LastContact.Milliseconds()}, {Name: "format_version", Value: int64(n.FormatVersion)}, {Name: "unhealthy_groups", Value: numbers(n.UnhealthyGroups)},
		})
	}
}
