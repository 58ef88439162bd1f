package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// A leader is cut off with an entry that no other node has. The next leader has another entry in its place. Before it
// sends that entry, it sends a message without entries whose commit index counts it. The former leader must not take
// its own entry for committed.
func TestCommitIndexBeyondAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulated: simulate(t, "a", "b", "c"), began: time.Now()}
		defer w.stop()
		w.whole()
		former := w.leader()
		name, before := former.opt.Node, lastIndex(former)
		w.cut(name, true, true, true)
		go do(former, acquire("lost", 10, 1))
		for lastIndex(former) == before {
			time.Sleep(time.Millisecond)
		}
		next := w.leader()
		for next == former || next.Group().Status().CommitIndex <= before {
			time.Sleep(10 * time.Millisecond)
			next = w.leader()
		}
		var third *Node
		for _, n := range w.others(next) {
			if n != former {
				third = n
			}
		}
		w.net.SetCut(third.opt.Node, name, false)
		w.net.SetCut(name, third.opt.Node, false)
		status, last := next.Group().Status(), raft.Log{}
		if err := next.Group().Parts().Log.GetLog(before, &last); err != nil {
			t.Fatal(err)
		}
		message := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax,
			ID: []byte(next.id), Addr: []byte(next.opt.Node)}, Term: status.Term,
			PrevLogEntry: before, PrevLogTerm: last.Term, LeaderCommitIndex: status.CommitIndex}
		answer := raft.AppendEntriesResponse{}
		if err := third.Group().Parts().Transport.AppendEntries(former.id, raft.ServerAddress(name), &message,
			&answer); err != nil || !answer.Success {
			t.Fatalf("%+v (%v)", answer, err)
		}
		time.Sleep(100 * time.Millisecond)
		if applied := former.Group().Status().AppliedIndex; applied > before {
			t.Errorf("the former leader has applied entry %d, which only it has", applied)
		}
		w.cut(name, true, true, false)
		if err := w.agree(); err != nil {
			t.Error(err)
		}
		if res := do(w.leader(), engine.Op{Verb: engine.Look, Key: []byte("lost")})[0]; res.Status != engine.NotFound {
			t.Errorf("%+v, and no node has the entry", res)
		}
	})
}
