package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
)

// sharedPatterns compares the patterns of --cluster-shared, which are no state: each node asks limits by its own. Nodes that differ exceed nothing, but
// refuse different requests.
type sharedPatterns struct {
	keys     *keyGroups
	statuses *peerStatuses
	log      *oncelog.Log
	said     string
}

// step warns when nodes differ, once for each way to differ.
func (p *sharedPatterns) step(context.Context) {
	now := differingPatterns(p.keys, p.statuses)
	if now != "" && now != p.said {
		p.log.Warn("nodes were started with different --cluster-shared: those without a pattern refuse requests with CROSSSLOT that others answer; give all nodes the same", "patterns", now)
	}
	p.said = now
}

// differingPatterns lists the patterns of the nodes that answer, "" if all have the same. The status of an older version has none.
func differingPatterns(keys *keyGroups, statuses *peerStatuses) string {
	nodes := map[string][]string{}
	for _, s := range keys.first.Members() {
		patterns := keys.opt.patterns()
		if s.ID != keys.id {
			r, _ := statuses.Last(s.ID)
			if r.Shared == nil || !statuses.IsAlive(r) {
				continue
			}
			patterns = *r.Shared
		}
		nodes[patterns] = append(nodes[patterns], raftnode.NodeName(s.ID))
	}
	if len(nodes) < 2 {
		return ""
	}
	var all []string
	for patterns, names := range nodes {
		slices.Sort(names)
		all = append(all, fmt.Sprintf("%s at %s", cmp.Or(patterns, "none"), strings.Join(names, ", ")))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// patterns are those of --cluster-shared in one text, whatever their order.
func (o *Options) patterns() string {
	return strings.Join(slices.Sorted(slices.Values(o.Shared)), ",")
}
