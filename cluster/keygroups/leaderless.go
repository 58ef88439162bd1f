package keygroups

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
)

// leaderless warns in the log of groups that have no leader, and so decide nothing. Every node does so, even one that
// has no replica of the group or has lost it with its disk.
type leaderless struct {
	keys     *Groups
	statuses *peers.Statuses
	log      *oncelog.Log

	since map[int]time.Time // by the number of the group: when it was first found without a leader
}

// leaderlessAfter is how long a group is without a leader before it is named in the log. It is much longer than an
// election.
const leaderlessAfter = 10 * time.Second

func (l *leaderless) step(context.Context) {
	if l.keys.first.Cluster().ClusterID == "" {
		return // the cluster has not been formed, or this node has not joined it
	}
	var lost []string
	for number, g := range append([]Asked{l.keys.first}, l.asked()...) {
		if leads, leader := g.Leads(); leads || leader != "" || l.statuses.IsLed(uint32(number)) {
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
	const remedy = "start the nodes that are down; if a majority of a group's replicas is lost, restore a backup into a new cluster"
	switch {
	case len(lost) == 0:
	case l.keys.opt.Common.Groups < 2:
		l.log.WarnOnce("leaderless", "the cluster has no leader and decides nothing: "+remedy)
	default:
		l.log.WarnOnce("leaderless "+strings.Join(lost, ","), "groups of keys have no leader, so their keys are not decided: "+
			remedy, "groups", strings.Join(lost, ","))
	}
}

func (l *leaderless) asked() (all []Asked) {
	for _, g := range l.keys.All() {
		all = append(all, g.Asked())
	}
	return all
}
