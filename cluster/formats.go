package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// formatVersion is a version of what stands in the log and goes between nodes: operations, with their options and algorithms,
// and kinds of entries. Version 1 is that of release 0.1.0. Where nodes write one down, 0 stands for 1: release 0.1.0 writes nothing.
type formatVersion uint32

func (v formatVersion) orFirst() formatVersion { return max(v, 1) }

// addition is one thing that a version added.
type addition struct {
	version formatVersion
	name    string                   // in errors, such as "the algorithm cooldown"
	isUsed  func(op *engine.Op) bool // reads no keys; nil for a kind of entry
	kind    byte                     // a kind of entry; 0 for an operation
}

// additions lists everything that was added after version 1; algorithms state their version in engine's table. A node knows the
// highest version in its list. It proposes nothing that some member does not know: see [Node.isTooNew] and [Node.proposeJSON].
var additions = append([]addition{}, addedAlgorithms()...)

func addedAlgorithms() (added []addition) {
	for _, a := range engine.Algorithms() {
		if v := formatVersion(a.Format()); v > 0 {
			added = append(added, addition{version: v, name: "the algorithm " + a.String(), isUsed: usesAlgorithm(a)})
		}
	}
	return added
}

// usesVerb is addition.isUsed of a verb.
func usesVerb(verb engine.Verb) func(*engine.Op) bool {
	return func(op *engine.Op) bool { return op.Verb == verb }
}

// usesAlgorithm is addition.isUsed of an algorithm, also in one of several limits and in a policy.
func usesAlgorithm(algorithm engine.Algorithm) func(*engine.Op) bool {
	return func(op *engine.Op) bool {
		return op.Limit.Algorithm == algorithm || slices.ContainsFunc(op.Parts, func(p engine.Op) bool { return p.Limit.Algorithm == algorithm })
	}
}

// formats is the list of additions that a node knows.
type formats struct {
	additions []addition
	newest    formatVersion
}

func newFormats(additions []addition) formats {
	f := formats{additions, 1}
	for _, a := range additions {
		f.newest = max(f.newest, a.version)
	}
	return f
}

// stated is the newest version as the node states it to others.
func (f *formats) stated() formatVersion {
	if f.newest == 1 {
		return 0
	}
	return f.newest
}

// newestIn returns the newest addition that some of the operations use, nil for none.
func (f *formats) newestIn(ops []engine.Op) (newest *addition) {
	for i := range f.additions {
		a := &f.additions[i]
		if a.isUsed == nil || newest != nil && newest.version >= a.version {
			continue
		}
		for j := range ops {
			if a.isUsed(&ops[j]) {
				newest = a
				break
			}
		}
	}
	return newest
}

// ofKind returns the version that a kind of entry was added in.
func (f *formats) ofKind(kind byte) formatVersion {
	for _, a := range f.additions {
		if a.isUsed == nil && a.kind == kind {
			return a.version
		}
	}
	return 1
}

// versionBody is the JSON of a kindVersion entry.
type versionBody struct {
	Formats formatVersion `json:"formats"`
}

// readVersion reads the body of a kindVersion entry.
func readVersion(body []byte, knows formatVersion) (formatVersion, error) {
	var v versionBody
	if err := json.Unmarshal(body, &v); err != nil {
		return 0, err
	}
	return v.Formats, checkUsed(v.Formats, knows)
}

// checkUsed returns an error if the cluster uses a version that this node does not know.
func checkUsed(used, knows formatVersion) error {
	if used <= knows {
		return nil
	}
	return fmt.Errorf("the cluster uses format version %d, and this node knows version %d: %w", used, knows, errNewerEntry)
}

// formats is the cluster's version: every member knows it, and none that does not know it can join. It never goes back.
func (r *clusterState) formats() formatVersion { return r.Formats.orFirst() }

// isTooNew reports whether some of the operations use an addition that the cluster's version does not have.
func (n *Node) isTooNew(ops []engine.Op) bool {
	used := n.fsm.cluster.Load().formats()
	if used >= n.formats.newest { // nearly always
		return false
	}
	a := n.formats.newestIn(ops)
	return a != nil && a.version > used
}

// decideKnown refuses the operations of a batch that are too new and has the others decided. An atomic batch is refused as
// a whole.
func (n *Node) decideKnown(b *engine.Batch) (finished bool) {
	rest := &engine.Batch{Local: b.Local}
	var positions []int
	for i := range b.Ops {
		if b.Atomic || n.isTooNew(b.Ops[i:i+1]) {
			b.Results[i].Status, b.Results[i].Allowed = engine.TooNew, false
			continue
		}
		rest.Ops, positions = append(rest.Ops, b.Ops[i]), append(positions, i)
	}
	rest.Results = make([]engine.Result, len(rest.Ops))
	deliver := func() {
		for i, at := range positions {
			b.Results[at] = rest.Results[i]
		}
	}
	rest.Done = func() {
		deliver()
		b.Done()
	}
	if len(rest.Ops) > 0 && !n.Decide(rest) {
		return false
	}
	deliver()
	return true
}

// TooNew returns the error for operations that were answered with [engine.TooNew]. It names the newest operation and a
// member that does not know it.
func (n *Node) TooNew(ops []engine.Op) error {
	a := n.formats.newestIn(ops)
	if a == nil {
		return errors.New("another operation of the same request is newer than a member of the cluster: nothing was taken; upgrade all members, then try again")
	}
	return fmt.Errorf("%s needs format version %d, and %s: nothing was taken; %s", a.name, a.version, n.laggards(a.version), upgradeFirst)
}

const upgradeFirst = "upgrade it, then try again"

// laggards describes the first member that does not know a version.
func (n *Node) laggards(version formatVersion) string {
	known := n.fsm.cluster.Load()
	for _, s := range n.raft.servers() {
		m, isRecorded := known.Members[s.ID]
		if knows := m.Formats.orFirst(); isRecorded && knows < version {
			return fmt.Sprintf("the member '%s' knows version %d", nodeName(s.ID), knows)
		}
	}
	return fmt.Sprintf("the cluster still uses version %d", known.formats())
}

// checkFormats returns an error if a node does not know the version that the cluster uses.
func (n *Node) checkFormats(id raft.ServerID, knows formatVersion) error {
	return checkFormats(id, knows, n.fsm.cluster.Load().formats())
}

func checkFormats(id raft.ServerID, knows, used formatVersion) error {
	if knows.orFirst() >= used {
		return nil
	}
	return fmt.Errorf("the cluster uses format version %d, and the node '%s' knows version %d: %s", used, nodeName(id), knows.orFirst(), upgradeFirst)
}

// updateFormats runs on the leader. It records the versions that members report, and raises the cluster's version once all
// members know a newer one.
func (n *Node) updateFormats(ctx context.Context) {
	for _, s := range n.raft.servers() {
		if err := n.recordFormats(ctx, s.ID); err != nil {
			n.log.once("formats "+string(s.ID), "cannot record the format version of a member yet", "id", s.ID, "error", err)
		}
	}
	if n.commonFormats() > n.fsm.cluster.Load().formats() {
		if err := n.raiseFormats(ctx); err != nil {
			n.log.once("raise", "cannot raise the cluster's format version yet", "error", err)
		}
	}
}

// recordFormats writes the version that a member reports into the log, if it has changed.
func (n *Node) recordFormats(ctx context.Context, id raft.ServerID) error {
	reported := n.formats.stated()
	if id != n.id {
		r, heard := n.statuses.last(id)
		if !heard || !n.statuses.isAlive(r) {
			return nil
		}
		reported = r.Formats
	}
	m, known := n.fsm.cluster.Load().Members[id]
	if !known || m.Formats == reported {
		return nil
	}
	if err := n.checkFormats(id, reported); err != nil {
		return err
	}
	return n.change(ctx, func(ctx context.Context) error {
		m, known := n.fsm.cluster.Load().Members[id]
		if !known {
			return nil // it was removed meanwhile
		}
		m.Formats = reported
		return n.writeMember(ctx, id, &m)
	})
}

// commonFormats is the newest version that all members know.
func (n *Node) commonFormats() formatVersion {
	known, servers, common := n.fsm.cluster.Load(), n.raft.servers(), n.formats.newest
	if len(servers) == 0 {
		return 1 // the node is ending
	}
	for _, s := range servers {
		common = min(common, known.Members[s.ID].Formats.orFirst())
	}
	return common
}

// firstFormats is the version of a new cluster: the newest that all its members reported before it was bootstrapped. None of them
// is recorded yet, and none joins before it has a leader.
func (n *Node) firstFormats() formatVersion {
	common := n.formats.stated()
	for _, s := range n.raft.servers() {
		if s.ID != n.id {
			r, _ := n.statuses.last(s.ID)
			common = min(common, r.Formats)
		}
	}
	return common
}

// raiseFormats raises the cluster's version. No member joins meanwhile, and an older one cannot join afterwards.
func (n *Node) raiseFormats(ctx context.Context) error {
	return n.change(ctx, func(ctx context.Context) error {
		to := n.commonFormats()
		if to <= n.fsm.cluster.Load().formats() {
			return nil
		}
		if err := n.proposeJSON(ctx, kindVersion, versionBody{to}); err != nil {
			return err
		}
		n.log.Info("all members know a newer format version: the cluster uses it from now on", "version", to)
		return nil
	})
}
