package ops

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// clusterRows tell clients which node to ask: the leader, which serves every slot, with the other nodes as its
// replicas. A standalone server answers like a Redis without cluster mode, so that clients decide to talk to one node.
var clusterRows = []command.Row{{
	Name: "cluster", Syntax: "subcommand", Group: "cluster", Summary: "Describe the cluster to clients that look for the leader.",
	Sub: []command.Row{
		{Name: "slots", Group: "cluster", Cost: command.Report, Flags: command.Connection, Summary: "List the nodes that serve the slots. The leader serves all slots, and the other nodes are its replicas. With --groups, each node serves the slots that it leads.",
			Returns: "an array with one array: 0, 16383, and for each node that is up, the leader first, an array of host, port, id and an empty map. An error while no leader is known. With --groups, an array for each range of slots, with one node.",
			Run:     ofCluster(runClusterSlots)},
		{Name: "shards", Group: "cluster", Cost: command.Report, Flags: command.Connection, Summary: "The same as CLUSTER SLOTS, in a newer form.",
			Returns: "an array of one map of slots and nodes, each a map of id, ip, endpoint, role, health (`online`, or with --groups also `fail`), port and replication-offset, the applied index. An error while no leader is known.",
			Run:     ofCluster(runClusterShards)},
		{Name: "nodes", Group: "cluster", Cost: command.Report, Flags: command.Connection, Summary: "Describe each node in a line.",
			Returns: "text, a line for each node as in Redis Cluster, with times in Unix milliseconds and the term as the epoch.",
			Run: ofCluster(func(st *clusterstatus.Status, s command.Session, w *resp.Writer, _ [][]byte) {
				w.Verbatim(nodeLines(st, s.Server().Now()))
			})},
		{Name: "replicas", Syntax: "node-id", Group: "cluster", Summary: "Describe the replicas of the leader with this id, each in a line.",
			Returns: "an array of lines as in CLUSTER NODES.", Example: "x",
			Cost: command.Report, Flags: command.Connection, Run: ofCluster(runClusterReplicas)},
		{Name: "info", Group: "cluster", Cost: command.Report, Flags: command.Connection, Summary: "The state and size of the cluster.",
			Returns: "text, lines of names and values. `cluster_state` is `ok` or `fail`.",
			Run:     ofCluster(runClusterInfo)},
		{Name: "myid", Group: "cluster", Cost: command.Light, Flags: command.Connection, Summary: "This node's id in the other subcommands.",
			Returns: "40 hexadecimal digits, made from --node-id.",
			Run: ofCluster(func(st *clusterstatus.Status, _ command.Session, w *resp.Writer, _ [][]byte) {
				w.BulkString(NodeHash(st.NodeID))
			})},
		{Name: "myshardid", Group: "cluster", Cost: command.Light, Flags: command.Connection, Summary: "The id of the cluster's only shard, or with --groups of the node's shard.",
			Returns: "40 hexadecimal digits.",
			Run: ofCluster(func(st *clusterstatus.Status, _ command.Session, w *resp.Writer, _ [][]byte) {
				if len(st.Groups) > 0 {
					w.BulkString(NodeHash(st.NodeID))
					return
				}
				w.BulkString(NodeHash(st.ClusterID))
			})},
		{Name: "keyslot", Syntax: "key", Group: "cluster", Summary: "The hash slot of a key, out of 16384.",
			Returns: "an integer from 0 to 16383. Works without a cluster too.", Example: "alice:1",
			Cost: command.Light, Flags: command.Fast | command.Harmless,
			Run: func(_ command.Session, w *resp.Writer, args [][]byte) { w.Int(int64(slot.Of(args[2]))) }},
	},
}}

// ofCluster makes the Run of a command that only a node of a cluster can answer.
func ofCluster(run func(st *clusterstatus.Status, s command.Session, w *resp.Writer, args [][]byte)) func(command.Session, *resp.Writer, [][]byte) {
	return func(s command.Session, w *resp.Writer, args [][]byte) {
		m := s.Server().Membership()
		if m == nil {
			w.Error(command.ErrClusterOff.Error())
			return
		}
		st := m.Status()
		run(&st, s, w, args)
	}
}

// NodeHash turns an id into the form of Redis Cluster: 40 hexadecimal digits.
func NodeHash(id string) string {
	sum := sha1.Sum([]byte(id))
	return hex.EncodeToString(sum[:])
}

// HostPort splits a node's address. If it is not known, host is "" and port 0.
func HostPort(addr string) (host string, port int64) {
	host, text, _ := net.SplitHostPort(addr)
	port, _ = strconv.ParseInt(text, 10, 64)
	return host, port
}

// isMaster reports whether a node is the leader, or was the last one. As in Redis Cluster, a leader that is gone keeps
// the slots until there is another. Otherwise a client that asks in between would find the slots served by nobody, and
// some clients do not ask again.
func isMaster(st *clusterstatus.Status, m clusterstatus.Member) bool { return m.ID == st.LastLeaderID }

// serving lists the nodes that clients can use, the master first. It is empty if no leader was ever known.
func serving(st *clusterstatus.Status) (nodes []clusterstatus.Member) {
	for _, m := range st.Members {
		switch {
		case m.ClientAddr == "":
		case isMaster(st, m):
			nodes = append([]clusterstatus.Member{m}, nodes...)
		case m.Reachable:
			nodes = append(nodes, m)
		}
	}
	if len(nodes) == 0 || !isMaster(st, nodes[0]) {
		return nil
	}
	return nodes
}

func runClusterSlots(st *clusterstatus.Status, _ command.Session, w *resp.Writer, _ [][]byte) {
	if len(st.Groups) > 0 {
		writeGroupSlots(st, w)
		return
	}
	nodes := serving(st)
	if nodes == nil {
		w.Error(command.ErrNoLeader.Error()) // so that clients keep their old topology, or ask another node
		return
	}
	w.Array(1)
	w.Array(2 + len(nodes))
	w.Int(0)
	w.Int(slot.Count - 1)
	for _, m := range nodes {
		writeSlotNode(w, m)
	}
}

// writeSlotNode writes a node of CLUSTER SLOTS.
func writeSlotNode(w *resp.Writer, m clusterstatus.Member) {
	host, port := HostPort(m.ClientAddr)
	w.Array(4)
	w.BulkString(host)
	w.Int(port)
	w.BulkString(NodeHash(m.ID))
	w.Map(0)
}

func runClusterShards(st *clusterstatus.Status, _ command.Session, w *resp.Writer, _ [][]byte) {
	if len(st.Groups) > 0 {
		writeGroupShards(st, w)
		return
	}
	nodes := serving(st)
	if nodes == nil {
		w.Error(command.ErrNoLeader.Error())
		return
	}
	w.Array(1)
	w.Map(2)
	w.BulkString("slots")
	w.Array(2)
	w.Int(0)
	w.Int(slot.Count - 1)
	w.BulkString("nodes")
	w.Array(len(nodes))
	for _, m := range nodes {
		writeShardNode(w, m, roleOf(st, m), "online")
	}
}

// writeShardNode writes a node of CLUSTER SHARDS.
func writeShardNode(w *resp.Writer, m clusterstatus.Member, role, health string) {
	host, port := HostPort(m.ClientAddr)
	command.WriteFields(w, []command.Field{
		{Name: "id", Value: NodeHash(m.ID)}, {Name: "ip", Value: host}, {Name: "endpoint", Value: host}, {Name: "role", Value: role},
		{Name: "health", Value: health}, {Name: "port", Value: port}, {Name: "replication-offset", Value: int64(m.AppliedIndex)},
	})
}

func roleOf(st *clusterstatus.Status, m clusterstatus.Member) string {
	if isMaster(st, m) {
		return "master"
	}
	return "replica"
}

// nodeLines is the reply of CLUSTER NODES: id, address, flags, master, times of the last ping and pong, epoch, link,
// slots.
func nodeLines(st *clusterstatus.Status, now int64) string {
	var out strings.Builder
	for _, m := range st.Members {
		out.WriteString(nodeLine(st, m, now))
		out.WriteByte('\n')
	}
	return out.String()
}

func nodeLine(st *clusterstatus.Status, m clusterstatus.Member, now int64) string {
	flags, master, link, slots := "slave", "-", "connected", ""
	switch {
	case len(st.Groups) > 0:
		flags, slots = "master", slotRanges(st, m.ID)
	case isMaster(st, m):
		flags, slots = "master", fmt.Sprintf(" 0-%d", slot.Count-1)
	case st.LastLeaderID != "":
		master = NodeHash(st.LastLeaderID)
	}
	if m.ID == st.NodeID {
		flags = "myself," + flags
	} else if !m.Reachable {
		flags, link = flags+",fail", "disconnected"
	}
	_, port := HostPort(m.Addr)
	addr := m.ClientAddr
	if addr == "" {
		addr = ":0"
	}
	return fmt.Sprintf("%s %s@%d %s %s 0 %d %d %s%s", NodeHash(m.ID), addr, port, flags, master, (now-int64(m.LastContact))/1e6, st.Term, link, slots)
}

func runClusterReplicas(st *clusterstatus.Status, s command.Session, w *resp.Writer, args [][]byte) {
	var lines []string
	known := false
	for _, m := range st.Members {
		switch {
		case NodeHash(m.ID) == string(args[2]):
			if known = true; len(st.Groups) > 0 {
				command.WriteTexts(w, nil)
				return
			}
			if !isMaster(st, m) {
				w.Error(errNotMaster.Error())
				return
			}
		case !isMaster(st, m):
			lines = append(lines, nodeLine(st, m, s.Server().Now()))
		}
	}
	if !known {
		w.Error(errUnknownNode.With(command.Truncate(args[2], 64)).Error())
		return
	}
	command.WriteTexts(w, lines)
}

func runClusterInfo(st *clusterstatus.Status, _ command.Session, w *resp.Writer, _ [][]byte) {
	state, ok, fail, size := "ok", slot.Count, 0, 1
	if len(st.Groups) > 0 {
		state, ok, fail, size = groupsInfo(st)
	} else if !st.HasLeader() || !st.Healthy || serving(st) == nil {
		state, ok, fail = "fail", 0, slot.Count
	}
	var out strings.Builder
	for _, f := range []struct {
		name  string
		value any
	}{
		{"cluster_enabled", 1}, {"cluster_state", state}, {"cluster_slots_assigned", slot.Count}, {"cluster_slots_ok", ok}, {"cluster_slots_pfail", 0},
		{"cluster_slots_fail", fail}, {"cluster_known_nodes", len(st.Members)}, {"cluster_size", size}, {"cluster_current_epoch", st.Term}, {"cluster_my_epoch", st.Term},
	} {
		fmt.Fprintf(&out, "%s:%v\r\n", f.name, f.value)
	}
	w.Verbatim(out.String())
}
