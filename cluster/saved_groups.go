package cluster

import (
	"encoding/json"
	"maps"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/raftstore"
)

// savedGroups is the groups in a node's directory, from before they begin.
type savedGroups struct {
	Groups     int           `json:"groups"`
	Founders   []fsm.Founder `json:"founders"`
	ImportName string        `json:"import,omitempty"` // of [fsm.Cluster]

	Version uint64                `json:"version,omitempty"` // of the last table that changed this; 0 without any: then there is a replica of all
	Here    map[int]raft.ServerID `json:"here,omitempty"`    // the replicas here
}

// groupsKey is where it is kept, beside the votes of group 0.
var groupsKey = []byte("stint/groups")

// HasGroup reports whether a node's directory has one of a group of keys, as far as that can be read.
func HasGroup(dir string, number int) bool {
	var saved savedGroups
	text, err := raftstore.ReadValue(dir, groupsKey)
	return err != nil || json.Unmarshal(text, &saved) != nil || saved.has(number)
}

// has reports whether a group has a replica here.
func (s *savedGroups) has(number int) bool { return s.Version == 0 || s.Here[number] != "" }

// save keeps which groups there are, and are here, on disk.
func (k *keyGroups) save(saved savedGroups) error {
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return k.opt.Disk.Stable().Set(groupsKey, text)
}

// saveHere keeps on disk that a replica is here, or none if id is "". The caller holds mu.
func (k *keyGroups) saveHere(number int, id raft.ServerID, version uint64) error {
	next := k.saved
	next.Version, next.Here = version, map[int]raft.ServerID{}
	maps.Copy(next.Here, k.saved.Here)
	if delete(next.Here, number); id != "" {
		next.Here[number] = id
	}
	if err := k.save(next); err != nil {
		return err
	}
	k.saved = next
	return nil
}
