package keygroups

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/peers"
	"github.com/stintdb/stint/cluster/raftnode"
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
	began := time.Now()
	for number, g := range append([]Asked{l.keys.first}, l.asked()...) {
		if leads, leader := g.Leads(); leads || leader != "" || l.statuses.IsLed(uint32(number)) {
			delete(l.since, number)
			continue
		}
		if l.since[number].IsZero() {
			l.since[number] = time.Now()
		}
		if since := l.since[number]; time.Since(since) >= leaderlessAfter {
			lost = append(lost, fmt.Sprint(number))
			if since.Before(began) {
				began = since
			}
		}
	}
	l.tell(strings.Join(lost, ","), began)
}

// tell says in the log and in the status of this node which groups have no leader, since when, and what to do.
func (l *leaderless) tell(lost string, began time.Time) {
	if lost == "" {
		l.keys.leaderless.Store(nil)
		return
	}
	remedy := "start the nodes that are down" + l.down() +
		"; if a majority of a group's replicas is lost, restore a backup into a new cluster"
	since := began.UTC().Format(time.RFC3339)
	if l.keys.opt.Common.Groups < 2 {
		l.log.WarnOnce("leaderless", "the cluster has no leader and decides nothing: "+remedy, "since", since)
		return
	}
	l.log.WarnOnce("leaderless "+lost, "groups of keys have no leader, so their keys are not decided: "+remedy, "groups",
		lost, "since", since)
	text := fmt.Sprintf("groups %s have had no leader since %s, so their keys are not decided: %s", lost, since, remedy)
	l.keys.leaderless.Store(&text)
}

// down returns the names of the nodes that do not answer, in parentheses, or "".
func (l *leaderless) down() string {
	var names []string
	for _, s := range l.keys.first.Members() {
		if r, _ := l.statuses.Last(s.ID); s.ID != l.keys.id && !l.statuses.IsAlive(r) {
			names = append(names, raftnode.NodeName(s.ID))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(names, ", ") + ")"
}

func (l *leaderless) asked() (all []Asked) {
	for _, g := range l.keys.All() {
		all = append(all, g.Asked())
	}
	return all
}
