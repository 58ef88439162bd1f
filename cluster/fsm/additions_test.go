package fsm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/calendar"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

// Snapshots carry the version, and snapshots of version 1 are written as release 0.1.0 did.
func TestSnapshotsCarryTheFormatVersion(t *testing.T) {
	f := newTestFSM(t)
	f.Knows = 2
	f.Fail = func(err error) { t.Error(err) }
	propose := func(index uint64, kind byte, body string) {
		entry := append(make([]byte, EntryHead), body...)
		StampEntry(entry, kind, int64(index), 6, index)
		f.Apply(&raft.Log{Index: index, Data: entry})
	}
	snapshot := func() (head string, whole []byte) {
		t.Helper()
		text, err := json.Marshal(f.Cluster.Load())
		if err != nil {
			t.Fatal(err)
		}
		var to bytes.Buffer
		s, err := f.Snapshot()
		if err == nil {
			err = s.(*fsmSnapshot).write(&to)
			s.Release()
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(text), to.Bytes()
	}
	propose(1, KindBootstrap, `{"cluster":"x"}`)
	propose(2, KindMember, `{"id":"a#1","member":{"node":"a","client":"c:1","spare":false}}`)
	if head, _ := snapshot(); head != `{"cluster":"x","members":{"a#1":{"node":"a","client":"c:1","spare":false}}}` {
		t.Errorf("version 1 is written as %s", head)
	}
	propose(3, KindVersion, `{"formats":2}`)
	propose(4, KindMember, `{"id":"b#1","member":{"node":"b","client":"c:2","spare":false,"formats":2}}`)
	propose(5, KindVersion, `{"formats":1}`)
	_, whole := snapshot()
	other := newTestFSM(t)
	other.Knows = 2
	if err := other.Restore(io.NopCloser(bytes.NewReader(whole))); err != nil {
		t.Fatal(err)
	}
	if c := other.Cluster.Load(); c.Version() != 2 || c.Members["b#1"].Formats != 2 ||
		c.Members["a#1"].Formats.OrFirst() != 1 {
		t.Errorf("restored as %+v", c)
	}
	older := newTestFSM(t)
	older.Knows = 1
	if err := older.Restore(io.NopCloser(bytes.NewReader(whole))); err == nil || !strings.Contains(err.Error(),
		"the cluster uses format version 2, and this node knows version 1") {
		t.Errorf("an older node restores it with %v", err)
	}
	failed := error(nil)
	older = newTestFSM(t)
	older.Knows, older.Fail = 1, func(err error) { failed = err }
	entry := append(make([]byte, EntryHead), `{"formats":2}`...)
	StampEntry(entry, KindVersion, 1, 6, 1)
	older.Apply(&raft.Log{Index: 1, Data: entry})
	if failed == nil || !strings.Contains(failed.Error(), "the cluster uses format version 2") {
		t.Errorf("an older node applies the version with %v", failed)
	}
}

// Each verb, option and algorithm that release 0.1.0 does not have needs a row in Additions.
func TestAdditionsAreListed(t *testing.T) {
	known := NewFormats(Additions)
	mustBeListed := func(what string, op engine.Op) {
		t.Helper()
		if known.NewestIn([]engine.Op{op}) == nil {
			t.Errorf("%s is not in release 0.1.0: give it a row in Additions (cluster/fsm/formats.go), an algorithm a format (engine/limits/algorithm.go)", what)
		}
	}
	for verb := engine.KeepOverflow + 1; verb > 0 &&
		exists(func() { new(opcodec.Writer).Append(nil, &engine.Op{Verb: verb}) }); verb++ {
		mustBeListed(fmt.Sprintf("verb %d", verb), engine.Op{Verb: verb})
	}
	for a := limits.Concurrency + 1; exists(func() { _ = a.String() }); a++ {
		if !slices.Contains(limits.Algorithms(), a) {
			continue // no operation has it as its limit: it results from other operations
		}
		limit := limits.Limit{Algorithm: a}
		mustBeListed("the algorithm "+a.String(), engine.Op{Limit: limit})
		for _, verb := range []engine.Verb{engine.AcquireAll, engine.SetPolicy, engine.SetOverride} {
			mustBeListed("the algorithm "+a.String()+" among several", engine.Op{Verb: verb, Parts: []engine.Op{{Limit: limit}}})
		}
	}
	for dialect := int64(2); dialect <= scriptcache.Dialect; dialect++ {
		first := known.NewestIn([]engine.Op{{Verb: engine.Script, Tokens: 1}})
		if a := known.NewestIn([]engine.Op{{Verb: engine.Script, Tokens: dialect}}); a.Version <= first.Version {
			t.Errorf("dialect %d of scripts is not in the version of the first: give it a row in Additions", dialect)
		}
	}
	for _, row := range command.Table {
		_, minor, _ := strings.Cut(row.Since, ".")
		if added, _ := strconv.Atoi(strings.TrimSuffix(minor, ".0")); row.Data == 0 || added <= 2 {
			continue
		}
		if a := known.NewestIn([]engine.Op{{Verb: engine.Command, Args: [][]byte{[]byte(row.Name)}}}); a.Version <= 2 {
			t.Errorf("the command %s is not in release 0.2.0: give it a row in Additions, and the scripts that may call it another dialect", row.Name)
		}
	}
	for _, verb := range []engine.Verb{engine.SetPolicy, engine.SetOverride, engine.Check} {
		mustBeListed("a named field", engine.Op{Verb: verb, Options: engine.NamedFields})
	}
	for _, limit := range []limits.Limit{{Span: limits.EachDay, Anchor: calendar.Anchor{Zone: 1}},
		{Span: limits.EachDay, Anchor: calendar.Anchor{From: 1}}, {Span: limits.EachQuarter}, {Span: limits.EachYear}} {
		limit.Algorithm, limit.Capacity = limits.FixedWindow, 1
		mustBeListed("a window of the calendar", engine.Op{Limit: limit})
		mustBeListed("a window of the calendar in a policy", engine.Op{Verb: engine.SetPolicy,
			Parts: []engine.Op{{Limit: limit}}})
	}
	for span, from := range map[limits.Span]calendar.From{limits.EachDay: 40 << 10, limits.EachWeek: 6 << 5,
		limits.EachMonth: 17 | 6<<5} {
		op := engine.Op{Verb: engine.SetPolicy,
			Parts: []engine.Op{{Limit: limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Span: span,
				Anchor: calendar.Anchor{From: from}}}}}
		if a := known.NewestIn([]engine.Op{op}); a.Version != 3 {
			t.Errorf("a beginning within a day is %+v", a)
		}
	}
	kept := limits.Limit{Algorithm: limits.FixedWindow, Capacity: 1, Rate: limits.Rate{Period: 1e9}, History: 1}
	mustBeListed("closed windows", engine.Op{Limit: kept})
	mustBeListed("closed windows in a policy", engine.Op{Verb: engine.SetPolicy, Parts: []engine.Op{{Limit: kept}}})
	kept.Span, kept.Rollover = limits.Aligned, 50
	if a := known.NewestIn([]engine.Op{{Limit: kept}}); a.Version != 3 {
		t.Errorf("ROLLOVER is %+v", a)
	}
	warns := limits.Limit{Algorithm: limits.SlidingWindow, Capacity: 1, Rate: limits.Rate{Period: 1e9}, Warn: 1}
	mustBeListed("WARN", engine.Op{Limit: warns})
	mustBeListed("WARN in a policy", engine.Op{Verb: engine.SetPolicy, Parts: []engine.Op{{Limit: warns}}})
	spread := engine.Op{Limit: limits.Limit{Algorithm: limits.TokenBucket}, Options: engine.Spread}
	for _, op := range []engine.Op{spread, {Verb: engine.SetPolicy, Parts: []engine.Op{spread}},
		{Verb: engine.Reserve, Parts: []engine.Op{{Verb: engine.AcquireAll, Parts: []engine.Op{spread}}}}} {
		if a := known.NewestIn([]engine.Op{op}); a.Version != 3 {
			t.Errorf("SPREAD is %+v", a)
		}
	}
	for option := engine.Shadow << 1; option > 0; option <<= 1 {
		var w opcodec.Writer
		op := acquire("k", 10, 1)
		op.Options = option
		if w.Append(nil, &op); w.Err() == nil {
			mustBeListed(fmt.Sprintf("the option %d of Acquire", option), op)
		}
	}
}

// exists reports whether f finds a row in a table of the engine.
func exists(f func()) (found bool) {
	defer func() { found = recover() == nil }()
	f()
	return true
}

func TestWhatAdditionsMatch(t *testing.T) {
	f := NewFormats([]Addition{{Version: 2, Name: "looks", IsUsed: usesVerb(engine.Look)}, {Version: 4, Name: "queues",
		IsUsed: usesAlgorithm(limits.LeakyQueue)}, {Version: 3, Name: "a kind", kind: 77}})
	queue := engine.Op{Limit: limits.Limit{Algorithm: limits.LeakyQueue}}
	for _, c := range []struct {
		name string
		ops  []engine.Op
		want string
	}{
		{"nothing", nil, ""},
		{"an old operation", []engine.Op{acquire("k", 10, 1)}, ""},
		{"a verb", []engine.Op{acquire("k", 10, 1), {Verb: engine.Look}}, "looks"},
		{"an algorithm", []engine.Op{queue, {Verb: engine.Look}}, "queues"},
		{"the newest, last", []engine.Op{{Verb: engine.Look}, queue}, "queues"},
		{"an algorithm in a policy", []engine.Op{{Verb: engine.SetPolicy, Parts: []engine.Op{acquire("k", 10, 1), queue}}},
			"queues"},
	} {
		got := ""
		if a := f.NewestIn(c.ops); a != nil {
			got = a.Name
		}
		if got != c.want {
			t.Errorf("%s: matches %q, want %q", c.name, got, c.want)
		}
	}
	if f.Newest != 4 || f.OfKind(77) != 3 || f.OfKind(KindTick) != 1 {
		t.Errorf("the newest is %d, kind 77 is of version %d, a tick of %d", f.Newest, f.OfKind(77), f.OfKind(KindTick))
	}
}
