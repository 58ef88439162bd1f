package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// leaderless logs a warning of groups that have no leader, and so decide nothing. Every node does so, including nodes that have no replica of the group
// or have lost it with their disk.
type leaderless struct {
	keys     *keyGroups
	statuses *peerStatuses
	log      *oncelog.Log

	since map[int]time.Time // by the number of the group
}

// leaderlessAfter is the time without a leader after which a group is named in the log. It is much longer than an election.
const leaderlessAfter = 10 * time.Second

func (l *leaderless) step(context.Context) {
	if l.keys.first.Cluster().ClusterID == "" {
		return // the cluster has not been formed, or this node has not joined it
	}
	var lost []string
	for number, g := range append([]askedGroup{l.keys.first}, l.asked()...) {
		if leads, leader := g.Leads(); leads || leader != "" || l.statuses.isLed(uint32(number)) {
			delete(l.since, number)
			continue
		}
		if l.since[number].IsZero() {
			l.since[number] = time.Now()
		}
		if time.Since(l.since[number]) >= leaderlessAfter {
			lost = append(lost, fmt.Sprint(number))
		}
	}
	const remedy = "start the nodes that do not run; if a majority of the nodes that had its replicas has lost them, restore a backup into a new cluster"
	switch {
	case len(lost) == 0:
	case l.keys.opt.Groups < 2:
		l.log.WarnOnce("leaderless", "the cluster has no leader, and decides nothing: "+remedy)
	default:
		l.log.WarnOnce("leaderless "+strings.Join(lost, ","), "groups have no leader, and their keys are not decided: "+remedy, "groups", strings.Join(lost, ","))
	}
}

func (l *leaderless) asked() (all []askedGroup) {
	for _, g := range l.keys.all() {
		all = append(all, g.asked())
	}
	return all
}

// noteUnhealthyGroups adds to each member the numbers of the groups of which it has a replica, if the replica is not healthy or the group has no leader.
func noteUnhealthyGroups(n *Node, members []clusterstatus.Member, groups []clusterstatus.Group) {
	ids := map[string]raft.ServerID{}
	for _, s := range n.first.Members() {
		ids[raftnode.NodeName(s.ID)] = s.ID
	}
	for i := range members {
		m := &members[i]
		told := n.statuses.ofKeyGroups(ids[m.ID])
		for j := range groups {
			g := &groups[j]
			isUnhealthy := told[uint32(g.Number)].Unhealthy
			if ids[m.ID] == n.id {
				isUnhealthy = n.groupOf(uint32(g.Number)) != nil && !g.Healthy
			}
			if g.LeaderID == "" && !n.statuses.isLed(uint32(g.Number)) {
				isUnhealthy = slices.Contains(g.Replicas, m.ID) || slices.Contains(g.Nonvoters, m.ID)
			}
			if isUnhealthy {
				m.UnhealthyGroups = append(m.UnhealthyGroups, g.Number)
			}
		}
	}
}
