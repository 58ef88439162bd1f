package peers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftnode"
)

// SharedPatterns compares the patterns of --cluster-shared, which are not part of the state: each node decides by its
// own. Nodes with different patterns exceed no limit, but refuse different requests.
type SharedPatterns struct {
	ID       raft.ServerID // this node's
	Own      string        // this node's patterns, as its status has them
	Members  func() []raft.Server
	Statuses *Statuses
	Log      *oncelog.Log

	said string
}

// Step warns when nodes differ, once for each way to differ.
func (p *SharedPatterns) Step(context.Context) {
	now := p.Differing()
	if now != "" && now != p.said {
		p.Log.Warn("nodes were started with different --cluster-shared, so some refuse with CROSSSLOT what others answer; give all nodes the same patterns", "patterns", now)
	}
	p.said = now
}

// Differing lists the patterns of the nodes that answer; "" if all have the same. The status of an older version has
// none.
func (p *SharedPatterns) Differing() string {
	nodes := map[string][]string{}
	for _, m := range p.Members() {
		patterns := p.Own
		if m.ID != p.ID {
			r, _ := p.Statuses.Last(m.ID)
			if r.Shared == nil || !p.Statuses.IsAlive(r) {
				continue
			}
			patterns = *r.Shared
		}
		nodes[patterns] = append(nodes[patterns], raftnode.NodeName(m.ID))
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
