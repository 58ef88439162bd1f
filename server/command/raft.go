package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stintdb/stint/server/resp"
)

var raftRows = []Row{{
	Name: "raft", Syntax: "subcommand", Group: "cluster", Summary: "Inspect and change the nodes of a cluster.",
	Sub: []Row{
		{Name: "info", Group: "cluster", Summary: "The state of the Raft cluster, as known to this node.",
			Returns: "a map of cluster_id, node_id, state (`starting`, `follower`, `candidate`, `leader` or `gone`), term, leader_id, leader_addr, leader_client_addr, last_contact_ms, last_log_index, commit_index, applied_index, last_snapshot_index, log_bytes, disk_stalled, cluster_time_usec and format_version (the newest that all nodes know).",
			Cost:    Report, Flags: Admin | Dangerous,
			Run: inRaft(runRaftInfo)},
		{Name: "nodes", Group: "cluster", Summary: "The nodes and their replication progress.",
			Returns: "an array with a map for each node of id, addr, client_addr, role (`leader`, with --groups that of group 0, `follower` or `nonvoter`), reachable, healthy (it leads and its entries are committed in time, or it follows and recently had all that the leader had applied), applied_index, last_contact_ms, format_version (the newest that the node knows) and unhealthy_groups (the numbers of the groups of keys, separated by commas, that have a replica there and no leader, or whose replica is not healthy; then the node is not healthy).",
			Cost:    Report, Flags: Admin | Dangerous, Run: inRaft(runRaftNodes)},
		{Name: "groups", Group: "cluster", Summary: "The groups of keys of a cluster with --groups, and who leads them.",
			Returns: "an array with a map for each group of group (its number), slots (the first and the last), leader_id (empty while none is known), term, commit_index, applied_index, log_bytes and healthy (here, or by the report of the leader where there is no replica), voters (those that are reachable), nonvoters (the ids of its other members, separated by commas), and with --cluster-replicas also replicas (those of all that vote); empty where one leader decides all keys.",
			Cost:    Report, Flags: Admin | Dangerous, Run: inRaft(runRaftGroups)},
		{Name: "add", Syntax: "id addr [NONVOTER]", Group: "cluster",
			Summary: "Add a member to the cluster; can be sent to any node. A NONVOTER (learner) has the state and serves requests, but counts in no majority and never leads; with --cluster-replicas it has no replicas. Adding it again without NONVOTER makes it a voter, and adding a voter with NONVOTER a nonvoter.",
			Returns: "`OK`. Sent when a majority has stored the change.", Example: "x 127.0.0.1:1",
			Cost: Light, Flags: Admin | Dangerous | NotInMulti, Run: inRaft(runRaftAdd)},
		{Name: "remove", Syntax: "id", Group: "cluster", Summary: "Remove a member from the cluster; can be sent to any node. It stays removed, also after a restart, until `RAFT ADD` or a start with an empty directory. Rejected if the remaining nodes would have no majority that is up.",
			Returns: "`OK`. Sent when a majority has stored the change.", Example: "x",
			Cost: Light, Flags: Admin | Dangerous | NotInMulti, Run: inRaft(func(m Membership, s Session, _ *resp.Writer, args [][]byte) {
				awaitCluster(s, func(done func(error)) { m.Remove(string(args[2]), done) })
			})},
		{Name: "transfer", Syntax: "[id]", Group: "cluster", Summary: "Transfer leadership to a node, by default to the most up-to-date one.",
			Returns: "`OK`. Sent when the other node is the leader.",
			Cost:    Light, Flags: Admin | Dangerous | NotInMulti, Run: inRaft(runRaftTransfer)},
		{Name: "snapshot", Group: "cluster", Summary: "Write a snapshot on this node and truncate its log.",
			Returns: "`OK`. Sent when the snapshot is complete.",
			Cost:    Light, Flags: Admin | Dangerous | NotInMulti, Run: inRaft(func(m Membership, s Session, _ *resp.Writer, _ [][]byte) { awaitCluster(s, m.Snapshot) })},
	},
}}

func inRaft(run func(m Membership, s Session, w *resp.Writer, args [][]byte)) func(Session, *resp.Writer, [][]byte) {
	return func(s Session, w *resp.Writer, args [][]byte) {
		m := s.Server().Membership()
		if m == nil {
			w.Error(ErrNoCluster.Error())
			return
		}
		run(m, s, w, args)
	}
}

// awaitCluster awaits what only the cluster can finish.
func awaitCluster(s Session, start func(done func(error))) {
	s.Await(func(done func(error)) {
		start(func(err error) { done(clusterError(err)) })
	})
}

// clusterError gives an error of the cluster the code that clients look for.
func clusterError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoLeader):
		return ErrNoLeader
	case errors.Is(err, ErrImporting):
		return ErrImporting
	case errors.Is(err, ErrUncertain):
		return ErrUncertain
	}
	return errRaft.With(err)
}

func runRaftAdd(m Membership, s Session, w *resp.Writer, args [][]byte) {
	voter := len(args) == 4
	if !voter && (len(args) > 5 || !isWord(args[4], "NONVOTER")) {
		w.Error(ErrSyntax.Error())
		return
	}
	awaitCluster(s, func(done func(error)) { m.Add(string(args[2]), string(args[3]), voter, done) })
}

func runRaftTransfer(m Membership, s Session, w *resp.Writer, args [][]byte) {
	to := ""
	switch len(args) {
	case 2:
	case 3:
		to = string(args[2])
	default:
		w.Error(ErrSyntax.Error())
		return
	}
	awaitCluster(s, func(done func(error)) { m.Transfer(to, done) })
}

func runRaftInfo(m Membership, _ Session, w *resp.Writer, _ [][]byte) {
	st := m.Status()
	writeFields(w, []field{
		{"cluster_id", st.ClusterID}, {"node_id", st.NodeID}, {"state", string(st.State)}, {"healthy", st.Healthy}, {"term", int64(st.Term)},
		{"leader_id", st.LeaderID}, {"leader_addr", st.LeaderAddr}, {"leader_client_addr", st.LeaderClientAddr}, {"last_contact_ms", st.LastContact.Milliseconds()},
		{"last_log_index", int64(st.LastLogIndex)}, {"commit_index", int64(st.CommitIndex)}, {"applied_index", int64(st.AppliedIndex)},
		{"last_snapshot_index", int64(st.LastSnapshotIndex)}, {"log_bytes", st.LogBytes}, {"disk_stalled", st.DiskStalled},
		{"cluster_time_usec", st.Time / int64(time.Microsecond)}, {"format_version", int64(st.FormatVersion)},
	})
}

// numbers are separated by commas.
func numbers(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]")
}

func runRaftNodes(m Membership, _ Session, w *resp.Writer, _ [][]byte) {
	st := m.Status()
	w.Array(len(st.Members))
	for _, n := range st.Members {
		role := "follower"
		if n.Leader {
			role = "leader"
		} else if !n.Voter {
			role = "nonvoter"
		}
		writeFields(w, []field{
			{"id", n.ID}, {"addr", n.Addr}, {"client_addr", n.ClientAddr}, {"role", role}, {"reachable", n.Reachable}, {"healthy", n.Healthy && len(n.UnhealthyGroups) == 0},
			{"applied_index", int64(n.AppliedIndex)}, {"last_contact_ms", n.LastContact.Milliseconds()}, {"format_version", int64(n.FormatVersion)}, {"unhealthy_groups", numbers(n.UnhealthyGroups)},
		})
	}
}
