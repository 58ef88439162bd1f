package metrics

import (
	"strconv"

	"github.com/stintdb/stint/internal/clusterstatus"
)

// groups makes the values of a metric with the label group.
func groups(value func(c *clusterstatus.Status, g *clusterstatus.Group) float64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) {
		if r.Cluster == nil {
			return
		}
		for i := range r.Cluster.Groups {
			g := &r.Cluster.Groups[i]
			emit(value(r.Cluster, g), strconv.Itoa(g.Number))
		}
	}
}

const (
	inGroups    = "with --groups"
	boundGroups = "the numbers of the groups, at most 64"
)

var groupRows = []Row{{
	Name: "stint_group_leader", Kind: Gauge, When: inGroups, Labels: []string{"group"}, Bound: boundGroups,
	Help: "1 if this node leads the group.",
	values: groups(func(c *clusterstatus.Status, g *clusterstatus.Group) float64 {
		return zeroOrOne(g.LeaderID == c.NodeID)
	}),
}, {
	Name: "stint_group_term", Kind: Gauge, When: inGroups, Labels: []string{"group"}, Bound: boundGroups,
	Help:   "The group's Raft term.",
	values: groups(func(_ *clusterstatus.Status, g *clusterstatus.Group) float64 { return float64(g.Term) }),
}, {
	Name: "stint_group_applied_lag", Kind: Gauge, When: inGroups, Labels: []string{"group"}, Bound: boundGroups,
	Help: "The same as stint_raft_applied_lag, for the group.",
	values: groups(func(_ *clusterstatus.Status, g *clusterstatus.Group) float64 {
		return Lag(g.CommitIndex, g.AppliedIndex)
	}),
}, {
	Name: "stint_group_log_bytes", Kind: Gauge, When: inGroups, Labels: []string{"group"}, Bound: boundGroups,
	Help:   "The same as stint_raft_log_bytes, for the group.",
	values: groups(func(_ *clusterstatus.Status, g *clusterstatus.Group) float64 { return float64(g.LogBytes) }),
}, {
	Name: "stint_shared_requests_total", Kind: Counter, When: inCluster, Help: "Requests to this node for tokens of a limit in another group: see --cluster-shared.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Shared.Requests) }),
}, {
	Name: "stint_shared_short_total", Kind: Counter, When: inCluster, Help: "Times that a request for a limit of another group waited for a loan.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Shared.Short) }),
}, {
	Name: "stint_shared_denied_total", Kind: Counter, When: inCluster, Help: "Requests for a limit of another group that were denied.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Shared.Denied) }),
}, {
	Name: "stint_shared_lent_tokens_total", Kind: Counter, When: inCluster, Help: "Tokens lent between groups at the request of this node.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Shared.Lent) }),
}, {
	Name: "stint_shared_returned_tokens_total", Kind: Counter, When: inCluster, Help: "Tokens lent between groups that this node gave back unused.",
	values: raft(func(c *clusterstatus.Status) float64 { return float64(c.Shared.Returned) }),
}}
