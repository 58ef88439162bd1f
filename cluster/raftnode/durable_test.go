package raftnode

import (
	"log/slog"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/asynclog"
)

// applied counts the entries that reach the state machine.
type applied struct {
	machine
	n int
}

func (a *applied) Apply(*raft.Log) any { a.n++; return nil }

// An entry that the disk has not got when the log ends is not applied, and Raft does not take it for applied.
func TestEntryIsNotAppliedWithoutTheDisk(t *testing.T) {
	disk := raft.NewInmemStore()
	if err := disk.StoreLog(&raft.Log{Index: 1}); err != nil {
		t.Fatal(err)
	}
	log, err := asynclog.New(disk, func() bool { return true }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	below, returned := &applied{}, false
	m, ended := durableMachine{below, log}, make(chan struct{})
	go func() {
		defer close(ended)
		m.Apply(&raft.Log{Index: 1})
		m.Apply(&raft.Log{Index: 2})
		returned = true
	}()
	log.Stop()
	<-ended
	if below.n != 1 || returned {
		t.Errorf("%d applied; returned: %v", below.n, returned)
	}
}

// There is no pipeline, in which the commit index would leave as it is.
func TestNoPipeline(t *testing.T) {
	if _, err := (durableTransport{}).AppendEntriesPipeline("", ""); err != raft.ErrPipelineReplicationNotSupported {
		t.Error(err)
	}
}
