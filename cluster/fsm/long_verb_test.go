package fsm

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
)

func TestLongVerbInAnEntry(t *testing.T) {
	f := newTestFSM(t)
	f.Fail = func(err error) { t.Error(err) }
	for i, group := range [][]byte{call.AppendGroup(nil, &opcodec.Writer{},
		&engine.Batch{Ops: []engine.Op{acquire("k", 10, 1)}}, nil), longDelete("k")} {
		entry := append(make([]byte, EntryHead), group...)
		StampEntry(entry, KindDecisions, 10, 6, uint64(i))
		f.Apply(&raft.Log{Index: uint64(i + 1), Data: entry})
		if keys := f.Store.Len(); keys != 1-i {
			t.Errorf("after entry %d there are %d keys", i+1, keys)
		}
	}
}
