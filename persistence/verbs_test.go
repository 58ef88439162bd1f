package persistence

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence/disk"
)

// Snapshots and journals write the verb of a policy's record as a whole byte.
func TestRecordsKeepAnyVerb(t *testing.T) {
	for verb := range 256 {
		var e encoder
		e.start(someTime)
		at := len(e.buf)
		e.policy(&engine.Op{Verb: engine.Verb(verb), Key: []byte("p"), Who: []byte("who")})
		d := decoder{PartReader: engine.PartReader{Rest: e.buf[at+1:]}} // after the record's kind
		if op := d.policy(); op == nil || int(op.Verb) != verb || string(op.Key) != "p" || string(op.Who) != "who" {
			t.Errorf("verb %d is read as %+v", verb, op)
		}
	}
}

// Named fields survive on disk. Without the option {tenant} is text.
func TestRecordsKeepNamedFields(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 1000}}
	for _, c := range []struct {
		options engine.Option
		record  string // after the limit
		key     string // of the caller 7 of acme
		fields  [][]byte
	}{
		{engine.Shadow, "05" + "0908" + "016c" + "00" + "01" + "00" + "0b7b74656e616e747d3a7b7d" + "00", "{tenant}:7", nil},
		{engine.Shadow | engine.NamedFields, "05" + "8928" + "016c" + "00" + "01" + "00" + "0b7b74656e616e747d3a7b7d" + "00", "acme:7",
			[][]byte{[]byte("tenant"), []byte("acme")}},
	} {
		var e encoder
		e.start(someTime)
		e.policy(&engine.Op{Verb: engine.SetPolicy, Options: c.options, Key: []byte("l"), Parts: []engine.Op{{Key: []byte("{tenant}:{}"), Limit: limit}}})
		if got := hex.EncodeToString(e.buf); !strings.HasSuffix(got, c.record) {
			t.Errorf("%s is not written as %s", got, c.record)
		}
		s := store.New(store.Config{Shards: 1})
		var d decoder
		if err := d.decode(e.buf[disk.BlockHead:], applier{s}); err != nil {
			t.Fatal(err)
		}
		p, _ := s.Policy("l")
		key := s.AppendPolicyKey(nil, []byte("l"), []byte("7"), c.fields, 0)
		if string(key) != c.key || !p.Shadow {
			t.Errorf("%s is read with the key %s, shadow %t", c.record, key, p.Shadow)
		}
		s.Close()
	}
	d := decoder{PartReader: engine.PartReader{Rest: []byte{0x89, 0x08, 1, 'l', 0, 0}}} // of a later version: no named fields, and something else
	if op := d.policy(); op == nil || store.CheckPolicy(op) == nil {
		t.Errorf("a record of a later version is read as %+v", op)
	}
}

// applier applies the policies of a payload.
type applier struct{ store *store.Store }

func (a applier) change(c keyspace.Change) error {
	if err := checkChange(c); err != nil {
		return err
	}
	a.store.Apply(someTime, []engine.Op{c.Op.Clone()}, make([]engine.Result, 1))
	return nil
}

func (a applier) end(int64) error { return nil }

// A state with policies of both forms comes back from snapshots and journals as it was.
func TestNamedFieldsSurviveARestart(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: second}}
	parts := []engine.Op{{Key: []byte("{tenant}:{}"), Limit: limit}}
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	results := make([]engine.Result, 4)
	s.Apply(someTime, []engine.Op{
		{Key: []byte("k"), Limit: limit, Tokens: 1},
		{Verb: engine.SetPolicy, Key: []byte("before"), Parts: parts},
		{Verb: engine.SetPolicy, Key: []byte("now"), Parts: parts, Options: engine.NamedFields},
		{Verb: engine.SetOverride, Key: []byte("before"), Who: []byte("7"), Parts: parts, Options: engine.NamedFields},
	}, results)
	restored := store.New(store.Config{Shards: 1})
	defer restored.Close()
	if _, _, err := ReadState(bytes.NewReader(writeState(t, s, someTime)), restored, 0); err != nil {
		t.Fatal(err)
	}
	if restored.Digest(someTime) != s.Digest(someTime) {
		t.Error("the state changed")
	}
}
