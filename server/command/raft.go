package command

import (
	"errors"
	"time"

	"github.com/stintdb/stint/server/resp"
)

var raftRows = []Row{{
	Name: "raft", Syntax: "subcommand", Since: "0.1.0", Group: "cluster", Summary: "Commands about the nodes of a cluster.",
	Sub: []Row{
		{Name: "info", Since: "0.1.0", Group: "cluster", Summary: "How the cluster is doing as this node knows it.", Flags: Admin | Dangerous,
			Run: inRaft(runRaftInfo)},
		{Name: "nodes", Since: "0.1.0", Group: "cluster", Summary: "The nodes, and how far each is.", Flags: Admin | Dangerous, Run: inRaft(runRaftNodes)},
		{Name: "add", Syntax: "id addr [NONVOTER]", Since: "0.1.0", Group: "cluster",
			Summary: "Make a node a member, on any node. A NONVOTER follows and serves, but has no vote; adding it again without the word gives it one.",
			Flags:   Admin | Dangerous | NoMulti, Run: inRaft(runRaftAdd)},
		{Name: "remove", Syntax: "id", Since: "0.1.0", Group: "cluster", Summary: "End a node's membership, on any node. Refused if the rest would have no majority that is up.",
			Flags: Admin | Dangerous | NoMulti, Run: inRaft(func(m Membership, s Session, _ *resp.Writer, args [][]byte) {
				awaitCluster(s, func(done func(error)) { m.Remove(string(args[2]), done) })
			})},
		{Name: "transfer", Syntax: "[id]", Since: "0.1.0", Group: "cluster", Summary: "Hand leadership to a node, or to the one that is best off.",
			Flags: Admin | Dangerous | NoMulti, Run: inRaft(runRaftTransfer)},
		{Name: "snapshot", Since: "0.1.0", Group: "cluster", Summary: "Have this node write a snapshot and cut its log behind it.",
			Flags: Admin | Dangerous | NoMulti, Run: inRaft(func(m Membership, s Session, _ *resp.Writer, _ [][]byte) { awaitCluster(s, m.Snapshot) })},
		helpRow("raft"),
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
	case errors.Is(err, ErrUncertain):
		return ErrUncertain
	}
	return errors.New("ERR " + err.Error())
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

// clusterField is one name and value; the value is a string or an int64.
type clusterField struct {
	name  string
	value any
}

func writeFields(w *resp.Writer, fields []clusterField) {
	w.Map(len(fields))
	for _, f := range fields {
		w.BulkString(f.name)
		switch v := f.value.(type) {
		case string:
			w.BulkString(v)
		case int64:
			w.Int(v)
		case bool:
			w.Bool(v)
		}
	}
}

func runRaftInfo(m Membership, _ Session, w *resp.Writer, _ [][]byte) {
	st := m.Status()
	writeFields(w, []clusterField{
		{"cluster_id", st.ClusterID}, {"node_id", st.NodeID}, {"state", string(st.State)}, {"term", int64(st.Term)},
		{"leader_id", st.LeaderID}, {"leader_addr", st.LeaderAddr}, {"leader_client_addr", st.LeaderClientAddr}, {"last_contact_ms", st.LastContact.Milliseconds()},
		{"last_log_index", int64(st.LastLogIndex)}, {"commit_index", int64(st.CommitIndex)}, {"applied_index", int64(st.AppliedIndex)},
		{"last_snapshot_index", int64(st.LastSnapshotIndex)}, {"log_bytes", st.LogBytes}, {"disk_stalled", st.DiskStalled},
		{"cluster_time_usec", st.Time / int64(time.Microsecond)},
	})
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
		writeFields(w, []clusterField{
			{"id", n.ID}, {"addr", n.Addr}, {"client_addr", n.ClientAddr}, {"role", role}, {"reachable", n.Reachable},
			{"applied_index", int64(n.AppliedIndex)}, {"last_contact_ms", n.LastContact.Milliseconds()},
		})
	}
}
