package cluster

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/engine"
)

// FuzzEntry reads entries of the log, and frames between nodes, as whoever gets at the port could send them: nothing
// panics, nothing is read out of bounds, and what is read can be carried out.
func FuzzEntry(f *testing.F) {
	var w engine.OpWriter
	batch := &engine.Batch{Atomic: true, Ops: []engine.Op{
		{Key: []byte("k"), Limit: engine.Limit{Algorithm: engine.TokenBucket, Capacity: 5, Rate: engine.Rate{Tokens: 1, Period: 1e9}}, Tokens: 1},
		{Verb: engine.Delete, Key: []byte("k")}, {Verb: engine.Restrict, Options: 6, Who: []byte(":")}, {Verb: engine.Flush},
	}}
	entry := appendGroup(make([]byte, entryHead), &w, batch, nil)
	stampEntry(entry, kindDecisions, 1e18, 7, 1)
	f.Add(entry)
	f.Add(append(appendGroup(bytes.Clone(entry), &w, batch, []uint32{1, 0}), 0xff))
	f.Add(append(make([]byte, entryHead), `{"cluster":"x"}`...))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := readEntry(b)
		if err != nil {
			return
		}
		store := engine.New(engine.Options{Shards: 1, Governed: true})
		defer store.Close()
		var r engine.OpReader
		var ops []engine.Op
		for body := e.body; len(body) > 0; {
			var g groupView
			if g, body, err = nextGroup(body); err != nil {
				return
			}
			if ops, err = readGroup(&r, g, ops[:0]); err != nil {
				return
			}
			if len(ops) != g.count {
				t.Fatalf("%d operations in a group of %d", len(ops), g.count)
			}
			store.Apply(e.now, ops, make([]engine.Result, len(ops)))
		}
	})
}

// FuzzSnapshotHead reads the head of a snapshot that another node sends.
func FuzzSnapshotHead(f *testing.F) {
	f.Add([]byte(snapshotMagic + "\x01\x00\x00\x00\x02\x00\x00\x00{}\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = readSnapshotHead(bytes.NewReader(b)) })
}

// FuzzFrame reads frames from a connection.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x00abc\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 10
		var buf []byte
		var err error
		for in := bytes.NewReader(b); err == nil; {
			if buf, err = readFrame(in, buf, most); cap(buf) > 2*most {
				t.Fatalf("a frame of %d bytes", cap(buf))
			}
		}
	})
}
