package fsm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
)

// FormatVersion is a version of the bytes in the log and between nodes: operations, with their options and algorithms,
// and kinds of entries. Release 0.1.0 has version 1, 0.2.0 has version 2, 0.3.0 has version 3, and 0.4.0 has version 4.
// Once CHANGELOG.md has a date for a release, additions begin the next version, which TestReleasedFormats checks. Where
// nodes write a version down, 0 stands for 1: release 0.1.0 writes nothing.
type FormatVersion uint32

// OrFirst returns the version, or the first version in place of 0.
func (v FormatVersion) OrFirst() FormatVersion { return max(v, 1) }

// Addition is one thing that a version added.
type Addition struct {
	Version FormatVersion
	Name    string                   // in errors, such as "the algorithm cooldown"
	IsUsed  func(op *engine.Op) bool // reads no keys; nil for an addition other than operations
	kind    byte                     // a kind of entry; 0 for none
}

// ImportOfOneGroup is the version from which on a cluster with one group awaits the import that it begins with, too.
// The version is in the first entry.
const ImportOfOneGroup FormatVersion = 3

// distinctTimes is the version from which on each script of an entry sees a time of its own, and each command chooses
// its random elements anew. A member that knows only older versions gives all of them the time of the entry.
const distinctTimes FormatVersion = 3

// LargeValues is the version from which on large lists, sets, hashes and sorted sets are kept in blocks, and may have
// more bytes: see [store.KeepLarge].
const LargeValues FormatVersion = 3

// manyLoans is the version from which on a key has more holders: see [store.LendToMany].
const manyLoans FormatVersion = 3

// Additions lists everything that was added after version 1. The versions of algorithms are in the table of package
// limits. A node knows the highest version in its list, and proposes nothing that some member does not know.
var Additions = append([]Addition{
	{Version: 2, Name: "commands on Redis data", IsUsed: usesVerb(engine.Command)},
	{Version: 2, Name: "scripts", IsUsed: usesVerb(engine.Script, engine.KeepScript, engine.DropScripts)},
	{Version: 2, Name: "a named field in a policy", IsUsed: usesNamedFields},
	{Version: 2, Name: "SL.LOG", IsUsed: usesVerb(engine.ListLog)},
	{Version: 2, Name: "FS.MEMBERS", IsUsed: usesVerb(engine.ListMembers)},
	{Version: 2, Name: "AD.REPORT", IsUsed: usesVerb(engine.Adapt)},
	{Version: 2, Name: "a reservation with an id", IsUsed: usesVerb(engine.Reserve, engine.Settle)},
	{Version: 2, Name: "a loan", IsUsed: usesVerb(engine.Lend, engine.Return, engine.Void, engine.Loans)},
	{Version: 2, Name: "the process of a member", kind: KindProcess},
	{Version: 2, Name: "a STRICT policy", IsUsed: func(op *engine.Op) bool {
		return op.Verb == engine.SetPolicy &&
			op.Options&engine.Strict != 0
	}},
	{Version: 2, Name: "a key whose limit has its home elsewhere", IsUsed: usesPurse},
	{Version: 2, Name: "the leader's allowance", IsUsed: usesAllowance},
	{Version: 2, Name: "the switch of the leader's allowance", kind: KindAllowance},
	{Version: 2, Name: "several groups of keys", kind: KindGroups},
	{Version: 2, Name: "COST and KEEP", IsUsed: inAnyLimit(func(op *engine.Op) bool {
		return op.Options&engine.FixedCost != 0 || op.Keep != 0
	})},
	{Version: 2, Name: "a wait for several limits", IsUsed: waitsForSeveral},
	{Version: 2, Name: "a queue among several limits", IsUsed: queuesAmongSeveral},
	{Version: 2, Name: "a policy's key that begins as the names of keys in databases", IsUsed: mayComeToName},
	{Version: 2, Name: "a window of a time zone, from another beginning, of quarters or of years",
		IsUsed: inAnyLimit(usesCalendar)},
	{Version: 2, Name: "HISTORY", IsUsed: inAnyLimit(func(op *engine.Op) bool { return op.Limit.History > 0 })},
	{Version: 2, Name: "RL.USAGE", IsUsed: usesVerb(engine.ListWindows)},
	{Version: 2, Name: "WARN", IsUsed: inAnyLimit(func(op *engine.Op) bool { return op.Limit.Warn != 0 })},
	{Version: 2, Name: "WATCH", IsUsed: usesVerb(engine.Fingerprint, engine.Expect)},
	{Version: 3, Name: "a window that begins at a minute, or at a time of a day of the week or month",
		IsUsed: inAnyLimit(beginsAtTime)},
	{Version: 3, Name: "ROLLOVER", IsUsed: inAnyLimit(func(op *engine.Op) bool { return op.Limit.Rollover > 0 })},
	{Version: 3, Name: "scripts of dialect 2",
		IsUsed: func(op *engine.Op) bool { return op.Verb == engine.Script && op.Tokens > 1 }},
	{Version: 3, Name: "replicas of a group on some nodes", kind: KindPlacement},
	{Version: 3, Name: "RL.EXTEND", IsUsed: usesVerb(engine.Extend)},
	{Version: LargeValues, Name: "large values in blocks"},
	{Version: 3, Name: "streams", IsUsed: usesStream},
	{Version: 3, Name: "SPREAD", IsUsed: inAnyLimit(func(op *engine.Op) bool {
		return op.Verb == engine.Acquire && op.IsSpread()
	})},
	{Version: 3, Name: "several limits of which some have their home elsewhere", IsUsed: namesPurses},
	{Version: 3, Name: "BAL.ADD and BAL.INFO", IsUsed: usesVerb(engine.AddCredits, engine.ListCredits)},
	{Version: ImportOfOneGroup, Name: "an import that a cluster without groups awaits"},
	{Version: distinctTimes, Name: "a time of its own for each script"},
	{Version: manyLoans, Name: "loans of a key to more holders"},
	{Version: 4, Name: "changes of policies that expect the present ones", IsUsed: (*engine.Op).ExpectsPolicies},
}, addedAlgorithms()...)

func addedAlgorithms() (added []Addition) {
	for _, a := range limits.Algorithms() {
		if v := FormatVersion(a.Format()); v > 0 {
			added = append(added, Addition{Version: v, Name: "the algorithm " + a.String(), IsUsed: usesAlgorithm(a)})
		}
	}
	return added
}

// usesVerb is Addition.IsUsed of verbs.
func usesVerb(verbs ...engine.Verb) func(*engine.Op) bool {
	return func(op *engine.Op) bool { return slices.Contains(verbs, op.Verb) }
}

// usesStream is Addition.IsUsed of the commands on streams, all of whose names begin with an x.
func usesStream(op *engine.Op) bool {
	return op.Verb == engine.Command && len(op.Args) > 0 && len(op.Args[0]) > 0 && op.Args[0][0]|0x20 == 'x'
}

// usesPurse is Addition.IsUsed of tokens of another cluster, or group.
func usesPurse(op *engine.Op) bool {
	if op.Verb == engine.AcquireAll || op.Verb == engine.Check {
		return op.Options&engine.FromPurses != 0
	}
	return op.Verb == engine.Prepare || op.Verb == engine.Deposit || isInPurse(op)
}

// isInPurse reports whether the tokens of an operation's limit are in a purse.
func isInPurse(op *engine.Op) bool { return op.Limit.Algorithm.IsPurse() }

// namesPurses is Addition.IsUsed of a request, or a policy, that says which of its limits are in purses.
func namesPurses(op *engine.Op) bool {
	return slices.ContainsFunc(op.Parts, func(p engine.Op) bool { return isInPurse(&p) })
}

// usesNamedFields is Addition.IsUsed of named fields, in a policy and in a check.
func usesNamedFields(op *engine.Op) bool {
	switch op.Verb {
	case engine.SetPolicy, engine.SetOverride, engine.Check:
		return op.Options&engine.NamedFields != 0
	}
	return false
}

// usesAlgorithm is Addition.IsUsed of an algorithm, also in one of several limits and in a policy.
func usesAlgorithm(algorithm limits.Algorithm) func(*engine.Op) bool {
	return inAnyLimit(func(op *engine.Op) bool { return op.Limit.Algorithm == algorithm })
}

// inAnyLimit is Addition.IsUsed of a property of one limit, in an operation or in its parts, and in those of a request
// that is reserved.
func inAnyLimit(has func(op *engine.Op) bool) func(*engine.Op) bool {
	var isIn func(op *engine.Op) bool
	isIn = func(op *engine.Op) bool {
		if has(op) {
			return true
		}
		for i := range op.Parts {
			if isIn(&op.Parts[i]) {
				return true
			}
		}
		return false
	}
	return isIn
}

// usesCalendar is Addition.IsUsed of calendar windows that version 1 does not have. The time zones in its table are
// part of that version.
func usesCalendar(op *engine.Op) bool {
	return op.Limit.Anchor != calendar.Anchor{} || op.Limit.Span > limits.EachMonth
}

// beginsAtTime is Addition.IsUsed of beginnings of windows that version 2 does not have.
func beginsAtTime(op *engine.Op) bool {
	unit, is := op.Limit.Span.Unit()
	return is && op.Limit.Anchor.From.HasTime(unit)
}

// usesAllowance is Addition.IsUsed of what the leader has taken in its memory.
func usesAllowance(op *engine.Op) bool {
	return op.Verb == engine.Carry || inAnyLimit(func(op *engine.Op) bool { return op.PriorAt != 0 })(op)
}

func waitsForSeveral(op *engine.Op) bool {
	return op.MaxWait != 0 && (op.Verb == engine.AcquireAll || op.Verb == engine.Check)
}

func queuesAmongSeveral(op *engine.Op) bool {
	return slices.ContainsFunc(op.Parts, func(p engine.Op) bool { return p.Limit.Algorithm == limits.LeakyQueue })
}

// mayComeToName is Addition.IsUsed of policies' keys that begin like names of databases: version 1 knows no such names.
func mayComeToName(op *engine.Op) bool {
	switch op.Verb {
	case engine.Check:
		return slices.ContainsFunc(append([][]byte{op.Who}, op.Args...), database.MayBeMarked)
	case engine.SetPolicy, engine.SetOverride:
		return slices.ContainsFunc(op.Parts, func(p engine.Op) bool { return database.MayBeMarked(p.Key) })
	}
	return false
}

// Formats has the additions that a node knows.
type Formats struct {
	additions []Addition
	Newest    FormatVersion
}

// NewFormats returns the formats of a node that knows some additions.
func NewFormats(additions []Addition) Formats {
	f := Formats{additions, 1}
	for _, a := range additions {
		f.Newest = max(f.Newest, a.Version)
	}
	return f
}

// Stated returns the newest version as the node states it to others.
func (f *Formats) Stated() FormatVersion {
	if f.Newest == 1 {
		return 0
	}
	return f.Newest
}

// NewestIn returns the newest addition that one of the operations uses; nil for none.
func (f *Formats) NewestIn(ops []engine.Op) (newest *Addition) {
	for i := range f.additions {
		a := &f.additions[i]
		if a.IsUsed == nil || newest != nil && newest.Version >= a.Version {
			continue
		}
		for j := range ops {
			if a.IsUsed(&ops[j]) {
				newest = a
				break
			}
		}
	}
	return newest
}

// OfKind returns the version in which a kind of entry was added.
func (f *Formats) OfKind(kind byte) FormatVersion {
	for _, a := range f.additions {
		if a.IsUsed == nil && a.kind == kind {
			return a.Version
		}
	}
	return 1
}

// VersionBody is the JSON of a KindVersion entry.
type VersionBody struct {
	Formats FormatVersion `json:"formats"`
}

// readVersion reads the body of a KindVersion entry.
func readVersion(body []byte, knows FormatVersion) (FormatVersion, error) {
	var v VersionBody
	if err := json.Unmarshal(body, &v); err != nil {
		return 0, err
	}
	return v.Formats, checkUsed(v.Formats, knows)
}

// checkUsed returns an error if the cluster uses a version that this node does not know.
func checkUsed(used, knows FormatVersion) error {
	if used <= knows {
		return nil
	}
	return fmt.Errorf("the cluster uses format version %d, and this node knows version %d: %w", used, knows, errNewerEntry)
}

// Version returns the cluster's format version. Every member knows it, and no node can join that does not. It never
// goes back.
func (r *Cluster) Version() FormatVersion { return r.Formats.OrFirst() }
