package cluster

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/importing"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine/keyspace"
)

// endOf is a reader that says when it has been read to its end.
type endOf struct {
	io.ReadCloser
	reached func()
}

func (r endOf) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		r.reached()
	}
	return n, err
}

// A leader that restores an import, and loses the lead before another node has it, does not go on with a state that no
// other node has.
func TestLeaderLosesTheLeadWhileItRestoresAnImport(t *testing.T) {
	file, _ := usedGroups(t)
	for name, end := range map[string]func(t *testing.T, s *simulated) *Node{
		"it goes on":    func(_ *testing.T, s *simulated) *Node { return s.nodes["b"] },
		"it is started": func(_ *testing.T, s *simulated) *Node { s.kill("b"); return s.start("b") },
		"it is started without an entry behind the import": func(t *testing.T, s *simulated) *Node {
			s.kill("b")
			logs, last := s.disks["b"].Logs(), uint64(0)
			all, err := s.disks["b"].Snapshots().List()
			if err == nil {
				last, err = logs.LastIndex()
			}
			if err == nil {
				err = logs.DeleteRange(all[0].Index, last)
			}
			if err != nil {
				t.Fatal(err)
			}
			return s.start("b")
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { loseTheLeadWhileRestoring(t, file, end) }) })
	}
}

func loseTheLeadWhileRestoring(t *testing.T, file []byte, end func(t *testing.T, s *simulated) *Node) {
	s := simulate(t, "a", "b", "c")
	defer s.stop()
	s.leader()
	from, cut := readSource(t, file), make(chan bool, 1)
	parts := importing.New(from.Scratch, from.Store, from.At, 1, func(keyspace.Entry) int { return 0 }, nil)
	defer parts.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func() (io.ReadCloser, int64, error) {
		state, size, err := parts.Open(0)
		return endOf{state, func() { s.cutOff("b", true); cut <- true }}, size, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.nodes["b"].Group().Import(ctx, group.Source{At: from.At, Open: open})
		ended <- err
	}()
	<-cut
	time.Sleep(5 * time.Second) // the others elect a leader, which writes an entry
	if leads, _ := s.nodes["b"].Group().Leads(); leads || !s.nodes["b"].Group().Cluster().Imported {
		t.Fatal("b still leads, or has not restored the import: this test shows nothing")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the import ended with %v", err)
	}
	n := end(t, s)
	s.cutOff("b", false)
	select {
	case err := <-n.Failed():
		if !errors.Is(err, raftstore.ErrLostState) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("b goes on; it has the import: %t, and a has it: %t; %+v", n.Group().Cluster().Imported,
			s.nodes["a"].Group().Cluster().Imported, n.Group().Status())
	}
	s.kill("b")
	s.mustNotFail()
}
