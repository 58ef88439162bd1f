package cluster

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// beside is a cluster whose leader has an entry under way that its own disk does not finish writing, and that one other
// node has.
type beside struct {
	*world
	leader, has, without string // names of nodes
	index                uint64 // of the entry
	granted              atomic.Int64
	release              func() // lets the disk finish
}

// newBeside takes the token of a bucket of one.
func newBeside(t *testing.T) *beside {
	w := &beside{world: &world{simulated: simulate(t, "a", "b", "c"), began: time.Now()}}
	w.whole()
	leader := w.simulated.leader()
	others := w.others(leader)
	w.leader, w.has, w.without = leader.opt.Node, others[0].opt.Node, others[1].opt.Node
	w.net.SetCut(w.leader, w.without, true)
	w.release = w.disks[w.leader].hang()
	go w.ask(leader)
	for w.index = lastIndex(leader); w.index == lastIndex(leader); {
		time.Sleep(time.Millisecond)
	}
	w.index = lastIndex(leader)
	for lastIndex(others[0]) < w.index {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // the leader has sent its commit index
	if last, _ := w.disks[w.leader].LastIndex(); last >= w.index || lastIndex(others[1]) >= w.index {
		t.Fatal("more than one node has the entry")
	}
	return w
}

func lastIndex(n *Node) uint64 { return n.Group().Parts().Raft.LastIndex() }

// ask takes the one token, if it is there.
func (w *beside) ask(n *Node) {
	if res := do(n, acquire("one", 1, 1)); res[0].Status == engine.OK && res[0].Allowed {
		w.granted.Add(1)
	}
}

// The leader's disk loses an entry that one other node has, and the rest goes on without that node. So nobody may have
// been told of the grant, and no node may have carried it out.
func TestEntryOnOneDiskIsNotGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBeside(t)
		defer w.stop()
		if n := w.granted.Load(); n > 0 {
			t.Error("granted, and only one disk has the entry")
		}
		if applied := w.nodes[w.has].Group().Status().AppliedIndex; applied >= w.index {
			t.Errorf("a follower has carried out entry %d of %d, which no other disk has", applied, w.index)
		}
		w.cut(w.has, true, true, true)
		w.crash(w.leader)
		w.cut(w.has, true, true, true) // the node that has the entry
		w.start(w.leader)
		w.ask(w.simulated.leader())
		if n := w.granted.Load(); n != 1 {
			t.Errorf("%d granted of a bucket of one: the entry was not lost, or was granted too early", n)
		}
		w.cut(w.has, true, true, false)
		if err := w.agree(); err != nil {
			t.Error(err)
		}
	})
}

// A leader whose disk hangs votes, follows and stands for election once its disk has its log. Then it has everything.
func TestNoOtherTermBeforeTheLogIsOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBeside(t)
		defer w.stop()
		defer w.release()
		old := w.nodes[w.leader]
		term := w.nodes[w.leader].Group().Status().Term
		w.cut(w.leader, true, true, true)
		for w.nodes[w.has].Group().Status().Term == term {
			time.Sleep(10 * time.Millisecond)
		}
		w.cut(w.leader, true, true, false)
		for range 300 {
			time.Sleep(10 * time.Millisecond)
			if kept, _ := w.disks[w.leader].GetUint64([]byte("CurrentTerm")); kept != term {
				t.Fatalf("in term %d with entries of term %d that its disk does not have", kept, term)
			}
		}
		w.release()
		if err := w.agree(); err != nil {
			t.Error(err)
		}
		if now := old.Group().Status().Term; now == term {
			t.Errorf("it is still in term %d", now)
		}
	})
}

// A leader whose disk refuses an entry gives up leadership. The others go on, and it is back when its disk is.
func TestDiskRefusesTheLeadersEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		n, disk := startFailing(t, s, s.leader())
		time.Sleep(3 * time.Second)
		if err := s.leader().Group().Transfer(t.Context(), n.opt.Node); err != nil {
			t.Fatal(err)
		}
		for s.leader() != n {
			time.Sleep(10 * time.Millisecond)
		}
		disk.writesFail.Store(true)
		go do(n, acquire("k", 1, 1)) // the next leader may grant it
		began := time.Now()
		for n.Group().OwnStatus().Leads {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > 500*time.Millisecond { // of simulated time
			t.Errorf("it gives up leadership after %v", took)
		}
		if res := do(s.leader(), acquire("other", 1, 1)); !res[0].Allowed {
			t.Errorf("without it: %+v", res)
		}
		if res := do(n, acquire("third", 1, 1)); !res[0].Allowed {
			t.Errorf("through it: %+v", res)
		}
		disk.writesFail.Store(false)
		w := &world{simulated: s}
		if err := w.agree(); err != nil {
			t.Error(err)
		}
	})
}

// A node alone does not give up leadership while its disk hangs: nobody would take it, and it would never lead again.
func TestHangingDiskOfANodeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a")
		defer s.stop()
		n := s.leader()
		release := s.disks["a"].hang()
		if res := do(n, acquire("key", 10, 1))[0]; res.Status != engine.Uncertain {
			t.Errorf("status %d while the disk hangs: this test shows nothing", res.Status)
		}
		time.Sleep(3 * n.opt.DiskTimeout)
		release()
		time.Sleep(time.Second)
		if res := do(n, acquire("key", 10, 1))[0]; res.Status != engine.OK {
			t.Errorf("status %d once the disk answers", res.Status)
		}
	})
}

// A node is closed while its disk refuses an entry.
func TestCloseWhileTheDiskRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a")
		n, disk := startFailing(t, s, s.leader())
		s.leader()
		disk.writesFail.Store(true)
		go do(n, acquire("k", 1, 1))
		time.Sleep(100 * time.Millisecond)
		s.stop()
	})
}

func (d *failingDisk) StoreLogs(logs []*raft.Log) error {
	if d.writesFail.Load() {
		return errors.Join(errDisk, d.memDisk.StoreLogs(logs[:len(logs)/2]))
	}
	return d.memDisk.StoreLogs(logs)
}

func (d *failingDisk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }
