package ops

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// In a cluster with groups of keys, each node is shown as the master of the slots whose groups it leads, and as a
// replica of none, because clients do not expect a node to be both.

// ledBy returns the groups that a node leads, or was the last to lead.
func ledBy(st *clusterstatus.Status, id string) (led []clusterstatus.Group) {
	for _, g := range st.Groups {
		if g.LastLeaderID == id {
			led = append(led, g)
		}
	}
	return led
}

// masters returns the members that clients can reach and that lead groups.
func masters(st *clusterstatus.Status) (all []clusterstatus.Member) {
	for _, m := range st.Members {
		if m.ClientAddr != "" && len(ledBy(st, m.ID)) > 0 {
			all = append(all, m)
		}
	}
	return all
}

func writeGroupSlots(st *clusterstatus.Status, w *resp.Writer) {
	ranges := 0
	for _, m := range masters(st) {
		ranges += len(ledBy(st, m.ID))
	}
	w.Array(ranges)
	for _, m := range masters(st) {
		for _, g := range ledBy(st, m.ID) {
			w.Array(3)
			w.Int(int64(g.FirstSlot))
			w.Int(int64(g.LastSlot))
			writeSlotNode(w, m)
		}
	}
}

func writeGroupShards(st *clusterstatus.Status, w *resp.Writer) {
	all := masters(st)
	w.Array(len(all))
	for _, m := range all {
		led := ledBy(st, m.ID)
		health := "online"
		if !m.Reachable {
			health = "fail"
		}
		w.Map(2)
		w.BulkString("slots")
		w.Array(2 * len(led))
		for _, g := range led {
			w.Int(int64(g.FirstSlot))
			w.Int(int64(g.LastSlot))
		}
		w.BulkString("nodes")
		w.Array(1)
		writeShardNode(w, m, "master", health)
	}
}

// slotRanges lists a node's slots as CLUSTER NODES does, with a blank before each range.
func slotRanges(st *clusterstatus.Status, id string) string {
	var out strings.Builder
	for _, g := range ledBy(st, id) {
		fmt.Fprintf(&out, " %d-%d", g.FirstSlot, g.LastSlot)
	}
	return out.String()
}

// slotsOfGroups counts the slots whose groups have a leader, and the nodes that lead groups.
func slotsOfGroups(st *clusterstatus.Status) (ok, leaders int) {
	for _, g := range st.Groups {
		if g.LeaderID != "" {
			ok += g.LastSlot - g.FirstSlot + 1
		}
	}
	return ok, len(masters(st))
}

// groupsInfo is the part of CLUSTER INFO about slots.
func groupsInfo(st *clusterstatus.Status) (state string, ok, fail, size int) {
	if ok, size = slotsOfGroups(st); ok == slot.Count && st.Healthy {
		return "ok", ok, 0, size
	}
	return "fail", ok, slot.Count - ok, size
}

func runRaftGroups(m command.Membership, _ command.Session, w *resp.Writer, _ [][]byte) {
	st := m.Status()
	if st.Forming {
		w.Error(errGroupsForming.Error())
		return
	}
	w.Array(len(st.Groups))
	for _, g := range st.Groups {
		fields := []command.Field{
			{Name: "group", Value: int64(g.Number)}, {Name: "slots", Value: fmt.Sprintf("%d-%d", g.FirstSlot, g.LastSlot)}, {Name: "leader_id", Value: g.LeaderID}, {Name: "term", Value: int64(g.Term)},
			{Name: "commit_index", Value: int64(g.CommitIndex)}, {Name: "applied_index", Value: int64(g.AppliedIndex)}, {Name: "log_bytes", Value: g.LogBytes}, {Name: "healthy", Value: g.Healthy}, {Name: "voters", Value: int64(g.Voters)},
			{Name: "nonvoters", Value: strings.Join(g.Nonvoters, ",")},
		}
		if st.Replicas > 0 {
			fields = append(fields, command.Field{Name: "replicas", Value: strings.Join(g.Replicas, ",")})
		}
		command.WriteFields(w, fields)
	}
}
