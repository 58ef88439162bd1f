package cluster

import (
	"encoding/binary"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
)

// longDelete is a group with one Delete, whose verb has a separate byte like the verbs from 15 on.
func longDelete(key string) []byte {
	op := append([]byte{0x0f, byte(engine.Delete), byte(len(key))}, key...)
	group := binary.AppendUvarint(nil, 1<<1)
	return append(binary.AppendUvarint(group, uint64(len(op))), op...)
}

// A follower sends the bytes, the leader reads and writes them again, and every node applies them.
func TestLongVerbIsForwarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		do(leader, acquire("k", 10, 1))
		for name, n := range s.nodes {
			if n == leader {
				continue
			}
			done := make(chan struct{})
			b := &engine.Batch{Ops: []engine.Op{{Verb: engine.Delete, Key: []byte("k")}}, Results: make([]engine.Result, 1),
				Done: func() { close(done) }}
			c := &call.Call{Batch: b, Group: longDelete("k")}
			c.Summarize()
			if !n.Group().Parts().Forwarder.Add(c) {
				t.Fatalf("%s does not forward", name)
			}
			<-done
			if res := b.Results[0]; res.Status != engine.OK {
				t.Errorf("at %s: status %d", name, res.Status)
			}
			if res := do(n, engine.Op{Verb: engine.Look, Key: []byte("k")}); res[0].Status != engine.NotFound {
				t.Errorf("at %s: the key is still there", name)
			}
			do(leader, acquire("k", 10, 1))
		}
	})
}
