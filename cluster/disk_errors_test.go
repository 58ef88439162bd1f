package cluster

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// failingDisk is a memDisk that refuses votes or entries, or whose log cannot be read, as long as that is set.
type failingDisk struct {
	*memDisk
	votesFail, logFails, writesFail atomic.Bool
}

var errDisk = errors.New("input/output error")

func (d *failingDisk) Logs() raft.LogStore      { return d }
func (d *failingDisk) Stable() raft.StableStore { return d }
func (d *failingDisk) Set(key, value []byte) error {
	if d.votesFail.Load() {
		return errDisk
	}
	return d.memDisk.Set(key, value)
}
func (d *failingDisk) SetUint64(key []byte, value uint64) error {
	if d.votesFail.Load() {
		return errDisk
	}
	return d.memDisk.SetUint64(key, value)
}
func (d *failingDisk) GetLog(index uint64, l *raft.Log) error {
	if d.logFails.Load() {
		return errDisk
	}
	return d.memDisk.GetLog(index, l)
}

// startFailing restarts a node of a simulation on a disk that can fail.
func startFailing(t *testing.T, s *simulated, n *Node) (*Node, *failingDisk) {
	t.Helper()
	name := n.opt.Node
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	disk := &failingDisk{memDisk: s.disks[name]}
	n, err := Open(s.options(name, name, disk))
	if err != nil {
		t.Fatal(err)
	}
	s.nodes[name] = n
	return n, disk
}

// A node whose disk refuses votes neither ends nor votes: the others decide, and the node is back when its disk is.
func TestVotesCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		n, disk := startFailing(t, s, s.leader())
		first := s.leader()
		for first == n {
			_ = n.Group().HandOver(t.Context())
			time.Sleep(time.Second)
			first = s.leader()
		}
		disk.votesFail.Store(true)
		if err := first.Close(); err != nil { // an election, in which n has to vote, and cannot
			t.Fatal(err)
		}
		delete(s.nodes, first.opt.Node)
		time.Sleep(5 * time.Second)
		if res := do(n, acquire("k", 1000, 1)); res[0].Status == engine.OK {
			t.Error("it decides without a vote that is kept")
		}
		disk.votesFail.Store(false)
		time.Sleep(5 * time.Second)
		if res := do(n, acquire("k", 1000, 1)); res[0].Status != engine.OK {
			t.Errorf("the node whose disk is back answers with status %d", res[0].Status)
		}
		disk.votesFail.Store(true)
		for name, other := range s.nodes {
			if other != n {
				_ = other.Close()
				delete(s.nodes, name)
			}
		}
		time.Sleep(5 * time.Second) // n wants to stand for election, and is ended while it waits
	})
}

// A node whose log cannot be read ends with a sentence.
func TestLogDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		n, disk := startFailing(t, s, s.leader())
		disk.logFails.Store(true)
		var entry raft.Log
		go func() { _ = n.Group().Parts().Log.GetLog(1, &entry) }()
		err := <-n.Failed()
		if !strings.Contains(err.Error(), "entry 1 of the log does not read: input/output error") {
			t.Error(err)
		}
	})
}

// A log that cannot be read while Raft starts is an error of Open, and no panic.
func TestLogDoesNotReadAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		n := s.leader()
		name := n.opt.Node
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		delete(s.nodes, name)
		disk := &failingDisk{memDisk: s.disks[name]}
		disk.logFails.Store(true)
		if _, err := Open(s.options(name, name, disk)); err == nil || !strings.Contains(err.Error(), "input/output error") {
			t.Errorf("it starts with %v", err)
		}
	})
}
