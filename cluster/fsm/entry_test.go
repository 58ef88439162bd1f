package fsm

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/store"
)

func sampleBatch() *engine.Batch {
	return &engine.Batch{Atomic: true, Ops: []engine.Op{
		acquire("k", 10, 1), {Verb: engine.Look, Key: []byte("other")}, acquire("k2", 10, 3),
	}}
}

func TestEntriesThatDoNotRead(t *testing.T) {
	whole := make([]byte, EntryHead)
	StampEntry(whole, KindTick, 5, 6, 7)
	if e, err := readEntry(whole); err != nil || e.now != 5 || e.proposer != 6 || e.number != 7 {
		t.Errorf("%+v, %v", e, err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"a newer version": func(b []byte) []byte { b[0]++; return b },
		"a newer kind":    func(b []byte) []byte { b[1] = 99; return b },
	} {
		if _, err := readEntry(change(bytes.Clone(whole))); !errors.Is(err, errNewerEntry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readEntry(whole[:EntryHead-1]); !errors.Is(err, errEntry) {
		t.Errorf("cut short: %v", err)
	}
}

// A node that comes to an entry of a newer version stops with a sentence and carries out nothing more.
func TestNewerEntryStopsTheNode(t *testing.T) {
	f := newTestFSM(t)
	var told error
	f.Fail = func(err error) { told = err }
	newer := make([]byte, EntryHead)
	StampEntry(newer, KindTick, 5, 6, 7)
	newer[0]++
	f.Apply(&raft.Log{Index: 3, Data: newer})
	if told == nil || !strings.Contains(told.Error(), "entry 3 of the log") || !strings.Contains(told.Error(),
		"newer version") {
		t.Errorf("%v", told)
	}
	entry := make([]byte, EntryHead)
	entry = call.AppendGroup(entry, &opcodec.Writer{}, sampleBatch(), nil)
	StampEntry(entry, KindDecisions, 10, 6, 8)
	f.Apply(&raft.Log{Index: 4, Data: entry})
	if f.Store.Len() != 0 {
		t.Error("it went on")
	}
	if _, err := f.Snapshot(); err == nil {
		t.Error("it takes snapshots of a state that lacks an entry")
	}
}

func newTestFSM(t testing.TB) *Machine {
	store := store.New(store.Config{Shards: 1, Replicated: true})
	t.Cleanup(store.Close)
	return New(Config{Store: store, Clock: clock.New(time.Now), TakeCalls: func(uint64) []*call.Call { return nil },
		Knows: NewFormats(Additions).Newest, Fail: func(error) {}})
}

// FuzzApply applies arbitrary bytes: the state machine takes them or fails with a reason.
func FuzzApply(f *testing.F) {
	entry := call.AppendGroup(make([]byte, EntryHead), &opcodec.Writer{}, sampleBatch(), nil)
	StampEntry(entry, KindDecisions, time.Now().UnixNano(), 6, 8)
	f.Add(entry)
	member := append(make([]byte, EntryHead), `{"id":"a#1","member":{"node":"a"}}`...)
	StampEntry(member, KindMember, 1, 1, 1)
	f.Add(member)
	version := append(make([]byte, EntryHead), `{"formats":1}`...)
	StampEntry(version, KindVersion, 1, 1, 2)
	f.Add(version)
	m := newTestFSM(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m.Broken = nil
		failed := false
		m.Fail = func(error) { failed = true }
		m.Apply(&raft.Log{Index: 1, Data: b})
		if failed != (m.Broken != nil) {
			t.Error("it failed without saying so")
		}
	})
}
