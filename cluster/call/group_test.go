package call

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
)

// The operations of a group are read as they were written, all or some of them.
func TestGroupRoundTrip(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: 1e9}}
	for _, which := range [][]uint32{nil, {0, 2}} {
		b := &engine.Batch{Atomic: true, Ops: []engine.Op{
			{Verb: engine.Acquire, Key: []byte("k"), Tokens: 1, Limit: limit}, {Verb: engine.Look, Key: []byte("other")},
			{Verb: engine.Acquire, Key: []byte("k2"), Tokens: 3, Limit: limit},
		}}
		buf := AppendGroup([]byte("before"), &opcodec.Writer{}, b, which)
		g, rest, err := NextGroup(append(buf, "after"...)[len("before"):])
		if err != nil || string(rest) != "after" || !g.Atomic {
			t.Fatalf("%+v, rest %q, %v", g, rest, err)
		}
		ops, err := ReadGroup(&opcodec.Reader{}, g, nil)
		want := b.Ops
		if which != nil {
			want = []engine.Op{b.Ops[0], b.Ops[2]}
		}
		if err != nil || len(ops) != len(want) {
			t.Fatalf("%d operations, %v", len(ops), err)
		}
		for i := range ops {
			if !bytes.Equal(ops[i].Key, want[i].Key) || !reflect.DeepEqual(ops[i].Limit, want[i].Limit) || ops[i].Tokens != want[i].Tokens {
				t.Errorf("operation %d: %+v, want %+v", i, ops[i], want[i])
			}
		}
	}
}
