package raftnode

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/asynclog"
	"github.com/stintdb/stint/cluster/transport"
)

// counted counts the entries that reach the state machine.
type counted struct {
	machine
	applied, configurations, snapshots int
}

func (c *counted) Apply(*raft.Log) any                           { c.applied++; return nil }
func (c *counted) StoreConfiguration(uint64, raft.Configuration) { c.configurations++ }
func (c *counted) Snapshot() (raft.FSMSnapshot, error)           { c.snapshots++; return nil, nil }

// Once an entry is left out, because the log was stopped before the disk had it, none is applied that follows, and no snapshot is taken.
func TestNothingFollowsAnEntryThatTheDiskLacks(t *testing.T) {
	log, err := asynclog.New(raft.NewInmemStore(), func() bool { return false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	below := &counted{}
	m := &durableMachine{machine: below, log: log}
	use := func(index uint64) any {
		m.StoreConfiguration(index, raft.Configuration{})
		_, _ = m.Snapshot()
		return m.Apply(&raft.Log{Index: index})
	}
	store := func(index uint64) {
		if err := log.StoreLog(&raft.Log{Index: index}); err != nil {
			t.Fatal(err)
		}
	}
	if store(1); use(1) != nil || *below != (counted{applied: 1, configurations: 1, snapshots: 1}) {
		t.Errorf("%+v", below)
	}
	log.Stop()
	if m.Apply(&raft.Log{Index: 2}) == nil {
		t.Error("an entry is applied that the disk does not have")
	}
	store(2)
	store(3) // a write that was under way
	if use(3) == nil || *below != (counted{applied: 1, configurations: 1, snapshots: 1}) {
		t.Errorf("%+v", below)
	}
}

// There is no pipeline, in which the commit index would leave as it is.
func TestNoPipeline(t *testing.T) {
	if _, err := (durableTransport{}).AppendEntriesPipeline("", ""); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
		t.Error(err)
	}
}

// A node that has lost the lead while it read the entries of a message does not send it.
func TestNoEntriesOfAFormerTerm(t *testing.T) {
	log, err := asynclog.New(raft.NewInmemStore(), func() bool { return false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	to := durableTransport{RaftTransport: &transport.RaftTransport{}, log: log, leads: func(term uint64) bool { return term == 5 }}
	if err := to.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 1}, &raft.AppendEntriesResponse{}); !errors.Is(err, raft.ErrLeadershipLost) {
		t.Error(err)
	}
}
