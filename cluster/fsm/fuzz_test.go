package fsm

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/store"
)

// FuzzEntry reads entries of the log, and frames between nodes, as an attacker at the port could send them: nothing
// panics, nothing is read out of bounds, and every accepted operation can be applied.
func FuzzEntry(f *testing.F) {
	var w opcodec.Writer
	batch := &engine.Batch{Atomic: true, Ops: []engine.Op{
		{Key: []byte("k"), Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1,
			Period: 1e9}}, Tokens: 1},
		{Verb: engine.Delete, Key: []byte("k")}, {Verb: engine.Restrict, NewKeys: 3, Who: []byte(":")}, {Verb: engine.Flush},
	}}
	entry := call.AppendGroup(make([]byte, EntryHead), &w, batch, nil)
	StampEntry(entry, KindDecisions, 1e18, 7, 1)
	f.Add(entry)
	f.Add(append(call.AppendGroup(bytes.Clone(entry), &w, batch, []uint32{1, 0}), 0xff))
	f.Add(append(make([]byte, EntryHead), `{"cluster":"x"}`...))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := readEntry(b)
		if err != nil {
			return
		}
		store := store.New(store.Config{Shards: 1, Replicated: true})
		defer store.Close()
		var r opcodec.Reader
		var ops []engine.Op
		for body := e.body; len(body) > 0; {
			var g call.Group
			if g, body, err = call.NextGroup(body); err != nil {
				return
			}
			if ops, err = call.ReadGroup(&r, g, ops[:0]); err != nil {
				return
			}
			if len(ops) != g.Count {
				t.Fatalf("%d operations in a group of %d", len(ops), g.Count)
			}
			store.Apply(e.now, ops, make([]engine.Result, len(ops)))
		}
	})
}

// FuzzSnapshotHead reads the head of a snapshot that another node sends.
func FuzzSnapshotHead(f *testing.F) {
	f.Add([]byte(snapshotMagic + "\x01\x00\x00\x00\x02\x00\x00\x00{}\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = ReadSnapshotHead(bytes.NewReader(b)) })
}
