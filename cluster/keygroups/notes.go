package keygroups

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/raftstore"
)

// noted is what a node's directory says about the groups. It is written before they begin.
type noted struct {
	Groups     int           `json:"groups"`
	Founders   []fsm.Founder `json:"founders"`
	ImportName string        `json:"import,omitempty"` // of [fsm.Cluster]

	// Version is the version of the last table that changed this; 0 without a table: then every group has a replica here.
	Version uint64                `json:"version,omitempty"`
	Here    map[int]raft.ServerID `json:"here,omitempty"` // the replicas here
}

// has reports whether a group has a replica here.
func (n *noted) has(number int) bool { return n.Version == 0 || n.Here[number] != "" }

// founding returns the founders that begin a group: all of them, or those to which the first table gives a replica of
// it.
func (n *noted) founding(number, replicas int) []fsm.Founder {
	if n.Version == 0 {
		return n.Founders
	}
	var ids []raft.ServerID
	for _, f := range n.Founders {
		ids = append(ids, f.ID)
	}
	formed := fsm.Cluster{Groups: n.Groups, ImportName: n.ImportName}
	first := formed.FirstPlacement(ids, replicas).Of(number)
	return slices.DeleteFunc(slices.Clone(n.Founders), func(f fsm.Founder) bool { return !slices.Contains(first, f.ID) })
}

// notesKey is the name of the notes, beside the votes of group 0.
var notesKey = []byte("stint/groups")

// HasReplica reports whether a node's directory has a replica of a group of keys. It is also true if the directory
// cannot be read.
func HasReplica(dir string, number int) bool {
	var n noted
	text, err := raftstore.ReadValue(dir, notesKey)
	return err != nil || json.Unmarshal(text, &n) != nil || n.has(number)
}

// notes keeps on disk which groups there are, and which have a replica here.
type notes struct {
	stable raft.StableStore
	last   noted // as it is on disk
}

// read reads the notes. It returns false if there are none.
func (n *notes) read() (noted, bool, error) {
	text, err := n.stable.Get(notesKey)
	if err != nil || len(text) == 0 {
		return noted{}, false, nil // Get returns an error for a missing value
	}
	if err := json.Unmarshal(text, &n.last); err != nil {
		return noted{}, false, fmt.Errorf("what the directory says about the groups does not read: %w", err)
	}
	return n.last, true, nil
}

// write replaces the notes.
func (n *notes) write(by noted) error {
	text, err := json.Marshal(by)
	if err != nil {
		return err
	}
	if err := n.stable.Set(notesKey, text); err != nil {
		return err
	}
	n.last = by
	return nil
}

// writeHere notes that a replica is here, or that none is if id is "".
func (n *notes) writeHere(number int, id raft.ServerID, version uint64) error {
	next := n.last
	next.Version, next.Here = version, maps.Clone(n.last.Here)
	if next.Here == nil {
		next.Here = map[int]raft.ServerID{}
	}
	if delete(next.Here, number); id != "" {
		next.Here[number] = id
	}
	return n.write(next)
}
