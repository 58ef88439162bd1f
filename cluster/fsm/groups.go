package fsm

import (
	"encoding/json"

	"github.com/hashicorp/raft"
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

// applyGroups takes the founders of the groups. They never change: the first entry counts.
func (f *Machine) applyGroups(text []byte) error {
	var body GroupsBody
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	if known := f.Cluster.Load(); known.Groups > 1 && len(known.Founders) == 0 {
		next := *known
		next.Founders = body.Founders
		f.Cluster.Store(&next)
	}
	return nil
}
