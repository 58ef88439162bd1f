package cluster

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
)

// What no node could read from the log is refused, by the node that is asked, before it is proposed or forwarded. The
// cluster goes on.
func TestWhatCannotBeCarriedOutIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		follower := s.nodes["a"]
		if follower == leader {
			follower = s.nodes["b"]
		}
		rate := acquire("k", 10, 1)
		rate.Limit.Rate = limits.Rate{Tokens: limits.MaxTokens + 1, Period: limits.MaxDuration}
		force := acquire("k", 10, 1)
		force.Options = engine.Force | engine.UpTo
		var large []engine.Op
		for i := range call.MaxBytes/60_000 + 1 {
			large = append(large, acquire(fmt.Sprint(i)+string(bytes.Repeat([]byte("k"), 60_000)), 10, 1))
		}
		fits := large[:len(large)-2]
		for _, n := range []*Node{leader, follower} {
			for _, c := range []struct {
				name string
				ops  []engine.Op
				want engine.Status
			}{
				{"a rate that no parser makes", []engine.Op{rate}, engine.Unreadable},
				{"such a rate in a policy", []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"), Parts: []engine.Op{rate}}}, engine.Unreadable},
				{"options that contradict each other", []engine.Op{acquire("other", 10, 1), force}, engine.Unreadable},
				{"a call larger than an entry", large, engine.TooBig},
				{"the largest call there may be", fits, engine.OK},
			} {
				results := do(n, c.ops...)
				if got := results[len(results)-1].Status; got != c.want {
					t.Errorf("%s on %s: status %d, want %d", c.name, n.opt.Node, got, c.want)
				}
			}
			if got := do(n, acquire("after "+n.opt.Node, 10, 1))[0]; !got.Allowed {
				t.Errorf("the cluster does not go on behind what %s refused: %+v", n.opt.Node, got)
			}
		}
	})
}

func TestGroupOfTooManyOperations(t *testing.T) {
	b := &engine.Batch{Ops: make([]engine.Op, call.MaxGroupOps+1)}
	if packed, status := call.PackGroup([]byte("before"), &opcodec.Writer{}, b, nil); status != engine.TooBig || string(packed) != "before" {
		t.Errorf("status %d, %d bytes", status, len(packed))
	}
}

// An inspection finds the entries at which a node would stop, and no others.
func TestInspectEntry(t *testing.T) {
	entry := func(kind byte, body []byte) []byte {
		e := append(make([]byte, entryHead), body...)
		stampEntry(e, kind, 5, 6, 7)
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
		{"decisions", raft.LogCommand, entry(kindDecisions, call.AppendGroup(nil, &opcodec.Writer{}, sampleBatch(), nil)), true},
		{"a tick", raft.LogCommand, entry(kindTick, nil), true},
		{"a member", raft.LogCommand, entry(kindMember, []byte(`{"id":"a"}`)), true},
		{"one of Raft's own", raft.LogNoop, nil, true},
		{"a capacity that cannot be", raft.LogCommand, entry(kindDecisions, call.AppendGroup(nil, &opcodec.Writer{}, &engine.Batch{Ops: []engine.Op{bad}}, nil)), false},
		{"a group cut short", raft.LogCommand, entry(kindDecisions, []byte{2, 9}), false},
		{"a format version", raft.LogCommand, entry(kindVersion, []byte(`{"formats":1}`)), true},
		{"a newer format version", raft.LogCommand, entry(kindVersion, []byte(`{"formats":1000}`)), false},
		{"no format version", raft.LogCommand, entry(kindVersion, []byte(`{`)), false},
		{"no member", raft.LogCommand, entry(kindMember, []byte(`{`)), false},
		{"a newer kind", raft.LogCommand, entry(99, nil), false},
		{"nothing", raft.LogCommand, nil, false},
	} {
		l := raft.Log{Index: 8, Term: 1, Type: c.typ, Data: c.data}
		if err := InspectEntry(8, raftstore.EncodeEntry(&l)); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		f := newTestFSM(t)
		if f.Apply(&l); c.typ == raft.LogCommand && (f.broken == nil) != c.ok {
			t.Errorf("%s is carried out: %v", c.name, f.broken)
		}
	}
	if InspectEntry(8, []byte("short")) == nil {
		t.Error("what is too short is taken")
	}
}
