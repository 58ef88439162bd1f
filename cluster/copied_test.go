package cluster

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/raftstore"
)

// copied returns a disk with the same log, votes and cluster.
func (d *memDisk) copied(t *testing.T) *memDisk {
	t.Helper()
	to := newMemDisk(d.run)
	to.node = d.node
	first, _ := d.FirstIndex()
	last, _ := d.LastIndex()
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := d.GetLog(i, &l); err != nil {
			t.Fatal(err)
		}
		_ = to.StoreLog(&l)
	}
	for _, key := range []string{"CurrentTerm", "LastVoteTerm", string(raftstore.FormatsKey)} {
		value, _ := d.GetUint64([]byte(key))
		_ = to.SetUint64([]byte(key), value)
	}
	for _, key := range []string{"LastVoteCand", string(raftstore.ClusterIDKey)} {
		value, _ := d.Get([]byte(key))
		_ = to.Set([]byte(key), value)
	}
	return to
}

// A copy of a node's directory that runs elsewhere has the node's vote, which would then count twice. So it does not
// take the node's place while the node answers, and does once the node has ended.
func TestCopiedDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t)
		lines := s.listenToLog()
		s.names = []string{"a", "b", "c"}
		defer s.stop()
		for _, name := range s.names {
			s.start(name)
		}
		leader := s.leader()
		name := s.names[(slices.Index(s.names, leader.opt.Node)+1)%3]
		time.Sleep(10 * time.Second)
		s.kill(name)
		copied := s.disks[name].copied(t)
		s.start(name)
		time.Sleep(10 * time.Second)
		o := s.options(name, "copy", copied)
		o.Peers = append(slices.Clone(s.names), "copy")
		second, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.end(second)
		isAt := func(address string) bool {
			return slices.ContainsFunc(s.leader().Group().Members(), func(m raft.Server) bool {
				return m.ID == second.id &&
					string(m.Address) == address
			})
		}
		for range 30 {
			if time.Sleep(time.Second); !isAt(name) {
				t.Fatal("the copy has taken the place of a node that answers")
			}
		}
		if second.Status().Healthy || !lines.Has("is in use by "+name) {
			t.Errorf("the copy is healthy: %v; the log is\n%s", second.Status().Healthy, lines)
		}
		s.kill(name)
		awaitSimulated(t, "the copy takes its place", func() bool { return isAt("copy") && second.Status().Healthy })
	})
}
