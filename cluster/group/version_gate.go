package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/engine"
)

// versionGate keeps additions out of the log that some member does not know.
type versionGate struct {
	fsm.Formats
	fsm      *fsm.Machine
	raft     *raftnode.Node
	statuses Statuses
	proposer *propose.Proposer
	before   fsm.FormatVersion // the cluster's version at the end of this node's last run, 0 if that is not known
}

// isTooNew reports whether some of the operations use an addition that the cluster's version does not have.
func (g *versionGate) isTooNew(ops []engine.Op) bool {
	used := max(g.fsm.Cluster.Load().Version(), g.before)
	if used >= g.Newest { // nearly always
		return false
	}
	a := g.NewestIn(ops)
	return a != nil && a.Version > used
}

// tooNew is [Group.TooNew].
func (g *versionGate) tooNew(ops []engine.Op) error {
	a := g.NewestIn(ops)
	if a == nil {
		return errors.New("another operation of the same request is newer than a member of the cluster: nothing was taken; upgrade all members, then try again")
	}
	return fmt.Errorf("%s needs format version %d, and %s: nothing was taken; %s", a.Name, a.Version, g.laggards(a.Version), upgradeFirst)
}

const upgradeFirst = "upgrade it, then try again"

// laggards describes the first member that does not know a version.
func (g *versionGate) laggards(version fsm.FormatVersion) string {
	known := g.fsm.Cluster.Load()
	for _, s := range g.raft.Servers() {
		m, isRecorded := known.Members[s.ID]
		if knows := m.Formats.OrFirst(); isRecorded && knows < version {
			return fmt.Sprintf("the member '%s' knows version %d", raftnode.NodeName(s.ID), knows)
		}
	}
	return fmt.Sprintf("the cluster still uses version %d", known.Version())
}

// check returns an error if a node does not know the version that the cluster uses.
func (g *versionGate) check(id raft.ServerID, knows fsm.FormatVersion) error {
	return checkFormats(id, knows, g.fsm.Cluster.Load().Version())
}

func checkFormats(id raft.ServerID, knows, used fsm.FormatVersion) error {
	if knows.OrFirst() >= used {
		return nil
	}
	return fmt.Errorf("the cluster uses format version %d, and the node '%s' knows version %d: %s", used, raftnode.NodeName(id), knows.OrFirst(), upgradeFirst)
}

// common is the newest version that all members know.
func (g *versionGate) common() fsm.FormatVersion {
	known, servers, common := g.fsm.Cluster.Load(), g.raft.Servers(), g.Newest
	if len(servers) == 0 {
		return 1 // the node is ending
	}
	for _, s := range servers {
		common = min(common, known.Members[s.ID].Formats.OrFirst())
	}
	return common
}

// first is the version of a new cluster: the newest one that all its members reported before it was bootstrapped. None
// of them is recorded yet, and no other joins before the cluster has a leader.
func (g *versionGate) first() fsm.FormatVersion {
	common := g.Stated()
	for _, s := range g.raft.Servers() {
		if s.ID != g.raft.ID {
			r, _ := g.statuses.Last(s.ID)
			common = min(common, r.Formats)
		}
	}
	return common
}

// propose proposes an entry about the cluster itself and waits until it is committed.
func (g *versionGate) propose(ctx context.Context, kind byte, body any) error {
	if used := max(g.fsm.Cluster.Load().Version(), g.common()); g.OfKind(kind) > used {
		return fmt.Errorf("entries of kind %d need format version %d, and %s", kind, g.OfKind(kind), g.laggards(g.OfKind(kind)))
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	select {
	case err := <-g.proposer.AddOther(kind, text):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
