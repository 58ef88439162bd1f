package cluster

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// formatVersion is a version of what stands in the log and goes between nodes: operations, with their options and algorithms,
// and kinds of entries. Version 1 is that of release 0.1.0, version 2 that of 0.2.0. Where nodes write one down, 0 stands for 1: release 0.1.0 writes nothing.
type formatVersion uint32

func (v formatVersion) orFirst() formatVersion { return max(v, 1) }

// addition is one thing that a version added.
type addition struct {
	version formatVersion
	name    string                   // in errors, such as "the algorithm cooldown"
	isUsed  func(op *engine.Op) bool // reads no keys; nil for a kind of entry
	kind    byte                     // a kind of entry; 0 for an operation
}

// additions lists everything that was added after version 1; algorithms state theirs in the table of package limits. A node knows the
// highest version in its list. It proposes nothing that some member does not know: see [versionGate].
var additions = append([]addition{
	{version: 2, name: "commands on Redis data", isUsed: usesVerb(engine.Command)},
	{version: 2, name: "scripts", isUsed: usesVerb(engine.Script, engine.KeepScript, engine.DropScripts)},
	{version: 2, name: "a named field in a policy", isUsed: usesNamedFields},
	{version: 2, name: "SL.LOG", isUsed: usesVerb(engine.ListLog)},
	{version: 2, name: "FS.MEMBERS", isUsed: usesVerb(engine.ListMembers)},
	{version: 2, name: "AD.REPORT", isUsed: usesVerb(engine.Adapt)},
	{version: 2, name: "a reservation with an id", isUsed: usesVerb(engine.Reserve, engine.Settle)},
	{version: 2, name: "a loan", isUsed: usesVerb(engine.Lend, engine.Return, engine.Void, engine.Loans)},
	{version: 2, name: "the process of a member", kind: kindProcess},
	{version: 2, name: "a STRICT policy", isUsed: func(op *engine.Op) bool { return op.Verb == engine.SetPolicy && op.Options&engine.Strict != 0 }},
	{version: 2, name: "a key whose limit has its home elsewhere", isUsed: usesPurse},
	{version: 2, name: "the leader's allowance", isUsed: usesShare},
	{version: 2, name: "the switch of the leader's allowance", kind: kindShare},
	{version: 2, name: "COST and KEEP", isUsed: inAnyLimit(func(op *engine.Op) bool { return op.Options&engine.FixedCost != 0 || op.Keep != 0 })},
	{version: 2, name: "a wait for several limits", isUsed: waitsForSeveral},
	{version: 2, name: "a queue among several limits", isUsed: queuesAmongSeveral},
}, addedAlgorithms()...)

func addedAlgorithms() (added []addition) {
	for _, a := range limits.Algorithms() {
		if v := formatVersion(a.Format()); v > 0 {
			added = append(added, addition{version: v, name: "the algorithm " + a.String(), isUsed: usesAlgorithm(a)})
		}
	}
	return added
}

// usesVerb is addition.isUsed of verbs.
func usesVerb(verbs ...engine.Verb) func(*engine.Op) bool {
	return func(op *engine.Op) bool { return slices.Contains(verbs, op.Verb) }
}

// usesPurse is addition.isUsed of tokens of another cluster.
func usesPurse(op *engine.Op) bool {
	return op.Verb == engine.Prepare || op.Verb == engine.Deposit || op.Limit.Algorithm.Home() != limits.NoAlgorithm
}

// usesNamedFields is addition.isUsed of named fields, in a policy and in a check.
func usesNamedFields(op *engine.Op) bool {
	switch op.Verb {
	case engine.SetPolicy, engine.SetOverride, engine.Check:
		return op.Options&engine.NamedFields != 0
	}
	return false
}

// usesAlgorithm is addition.isUsed of an algorithm, also in one of several limits and in a policy.
func usesAlgorithm(algorithm limits.Algorithm) func(*engine.Op) bool {
	return inAnyLimit(func(op *engine.Op) bool { return op.Limit.Algorithm == algorithm })
}

// inAnyLimit is addition.isUsed of a property of one limit, in an operation or in its parts.
func inAnyLimit(has func(op *engine.Op) bool) func(*engine.Op) bool {
	return func(op *engine.Op) bool {
		if has(op) {
			return true
		}
		for i := range op.Parts {
			if has(&op.Parts[i]) {
				return true
			}
		}
		return false
	}
}

// usesShare is addition.isUsed of what the leader has taken in its memory.
func usesShare(op *engine.Op) bool {
	return op.Verb == engine.Carry || inAnyLimit(func(op *engine.Op) bool { return op.PriorAt != 0 })(op)
}

func waitsForSeveral(op *engine.Op) bool {
	return op.MaxWait != 0 && (op.Verb == engine.AcquireAll || op.Verb == engine.Check)
}

func queuesAmongSeveral(op *engine.Op) bool {
	return slices.ContainsFunc(op.Parts, func(p engine.Op) bool { return p.Limit.Algorithm == limits.LeakyQueue })
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
