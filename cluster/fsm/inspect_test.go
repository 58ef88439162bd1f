package fsm

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
)

// An inspection finds the entries at which a node would stop, and no others.
func TestInspectEntry(t *testing.T) {
	entry := func(kind byte, body []byte) []byte {
		e := append(make([]byte, EntryHead), body...)
		StampEntry(e, kind, 5, 6, 7)
		return e
	}
	bad := acquire("k", 10, 1)
	bad.Limit.Capacity = limits.MaxTokens + 1
	for _, c := range []struct {
		name string
		typ  raft.LogType
		data []byte
		ok   bool
	}{
		{"decisions", raft.LogCommand, entry(KindDecisions, call.AppendGroup(nil, &opcodec.Writer{}, sampleBatch(), nil)),
			true},
		{"a tick", raft.LogCommand, entry(KindTick, nil), true},
		{"a member", raft.LogCommand, entry(KindMember, []byte(`{"id":"a"}`)), true},
		{"one of Raft's own", raft.LogNoop, nil, true},
		{"a capacity that cannot be", raft.LogCommand, entry(KindDecisions, call.AppendGroup(nil, &opcodec.Writer{},
			&engine.Batch{Ops: []engine.Op{bad}}, nil)), false},
		{"a group cut short", raft.LogCommand, entry(KindDecisions, []byte{2, 9}), false},
		{"a format version", raft.LogCommand, entry(KindVersion, []byte(`{"formats":1}`)), true},
		{"a newer format version", raft.LogCommand, entry(KindVersion, []byte(`{"formats":1000}`)), false},
		{"no format version", raft.LogCommand, entry(KindVersion, []byte(`{`)), false},
		{"no member", raft.LogCommand, entry(KindMember, []byte(`{`)), false},
		{"a newer kind", raft.LogCommand, entry(99, nil), false},
		{"nothing", raft.LogCommand, nil, false},
	} {
		l := raft.Log{Index: 8, Term: 1, Type: c.typ, Data: c.data}
		if err := InspectEntry(8, raftstore.EncodeEntry(&l)); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		f := newTestFSM(t)
		if f.Apply(&l); c.typ == raft.LogCommand && (f.Broken == nil) != c.ok {
			t.Errorf("%s is carried out: %v", c.name, f.Broken)
		}
	}
	if InspectEntry(8, []byte("short")) == nil {
		t.Error("what is too short is taken")
	}
}
