package fsm

import (
	"encoding/json"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/placement"
)

// Founder is a node that begins the groups of keys: each of them has the founders as its first members.
type Founder struct {
	ID      raft.ServerID `json:"id"`
	Address string        `json:"address"`
}

// GroupsBody is the JSON of a KindGroups entry.
type GroupsBody struct {
	Founders []Founder `json:"founders"`
}

// applyGroups stores the founders of the groups. They never change: only the first entry counts.
func (f *Machine) applyGroups(text []byte) error {
	var body GroupsBody
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	if known := f.Cluster.Load(); known.Groups > 1 && len(known.Founders) == 0 {
		next := *known
		next.Founders = body.Founders
		f.setCluster(&next)
	}
	return nil
}

// FirstPlacement returns the table with which the groups of keys begin.
func (r *Cluster) FirstPlacement(founders []raft.ServerID, replicas int) *placement.Table {
	if r.ImportName != "" {
		return placement.Everywhere(founders, r.Groups, replicas)
	}
	return placement.First(founders, r.Groups, replicas)
}

// applyPlacement stores the next table of the groups' replicas. A table that was made from an older one changes
// nothing.
func (f *Machine) applyPlacement(text []byte) error {
	var next placement.Table
	if err := json.Unmarshal(text, &next); err != nil {
		return err
	}
	known := *f.Cluster.Load()
	if known.Groups > 1 && len(next.Groups) == known.Groups && next.Version == known.Placement.Number()+1 {
		known.Placement = &next
		f.setCluster(&known)
	}
	return nil
}
