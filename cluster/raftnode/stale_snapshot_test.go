package raftnode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/raftstore"
)

// lastOf is a state machine whose state is the number in the last entry.
type lastOf struct{ number uint64 }

func (m *lastOf) Apply(entry *raft.Log) any {
	m.number = binary.LittleEndian.Uint64(entry.Data)
	return nil
}
func (m *lastOf) StoreConfiguration(uint64, raft.Configuration) {}
func (m *lastOf) Snapshot() (raft.FSMSnapshot, error)           { return nil, raft.ErrNothingNewToSnapshot }
func (m *lastOf) Restore(from io.ReadCloser) error {
	defer from.Close()
	return binary.Read(from, binary.LittleEndian, &m.number)
}

// fed is a messenger whose messages come from the test, as they would from connections that are served in any order.
type fed struct {
	*raft.InmemTransport
	came       chan raft.RPC
	heartbeats func(handle func(raft.RPC))
}

func (f fed) Consumer() <-chan raft.RPC                    { return f.came }
func (f fed) SetHeartbeatHandler(handle func(raft.RPC))    { f.heartbeats(handle) }
func (fed) Inspect(func(*raft.AppendEntriesRequest) error) {}

func (f fed) answer(t *testing.T, command any, data []byte) (answer any, err error) {
	t.Helper()
	answers := make(chan raft.RPCResponse, 1)
	f.came <- raft.RPC{Command: command, Reader: bytes.NewReader(data), RespChan: answers}
	select {
	case r := <-answers:
		return r.Response, r.Error
	case <-time.After(time.Minute):
		t.Fatal("no answer within a minute")
		return nil, nil
	}
}

const (
	staleTerm   = 7
	staleLeader = "leader:1"
)

// follower is a node that follows a leader that the test plays.
type follower struct {
	*Node
	t       *testing.T
	fed     fed
	machine *lastOf
	store   *raftstore.Dir
	votes   func(raft.StableStore) raft.StableStore
	timeout time.Duration // without heartbeats
	observe func(*raft.Observation) bool
}

func newFollower(t *testing.T) *follower {
	return newFollowerWith(t, func(stable raft.StableStore) raft.StableStore { return stable }, func(func(raft.RPC)) {})
}

// newFollowerWith is newFollower with another store of votes. heartbeats takes the function by which Raft hears
// heartbeats.
func newFollowerWith(t *testing.T, votes func(raft.StableStore) raft.StableStore, heartbeats func(func(raft.RPC))) *follower {
	_, inmem := raft.NewInmemTransport("follower:1")
	f := &follower{t: t, fed: fed{inmem, make(chan raft.RPC), heartbeats}, machine: &lastOf{}, votes: votes,
		timeout: time.Hour, observe: func(*raft.Observation) bool { return false }}
	var err error
	if f.store, err = raftstore.Open(t.TempDir(), raftstore.OwnLog, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	f.start()
	t.Cleanup(func() {
		if err := f.ShutDown(); err != nil {
			t.Error(err)
		}
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *follower) start() {
	f.t.Helper()
	f.Node = New(f.t.Context(), "follower", f.timeout, clock.New(time.Now), slog.New(slog.DiscardHandler), func(err error) {
		f.t.Error(err)
	})
	if err := f.Start(StartConfig{Machine: f.machine, Logs: f.store.Logs(), Stable: f.votes(f.store.Stable()),
		Snapshots: f.store.Snapshots(), Messenger: f.fed, Slices: NewSlices(), Observe: f.observe}); err != nil {
		f.t.Fatal(err)
	}
}

// restart ends Raft and starts it again with what is on the disk.
func (f *follower) restart() {
	f.t.Helper()
	if err := f.ShutDown(); err != nil {
		f.t.Fatal(err)
	}
	_, inmem := raft.NewInmemTransport("follower:1")
	f.fed, f.machine = fed{inmem, make(chan raft.RPC), f.fed.heartbeats}, &lastOf{}
	f.start()
}

func head() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("leader"), Addr: []byte(staleLeader)}
}

func numbered(number uint64) []byte { return binary.LittleEndian.AppendUint64(nil, number) }

// install sends the state after an entry.
func (f *follower) install(index uint64) (ok bool) {
	f.t.Helper()
	members := raft.Configuration{Servers: []raft.Server{{ID: "leader", Address: staleLeader},
		{ID: "follower", Address: "follower:1"}}}
	answer, err := f.fed.answer(f.t, &raft.InstallSnapshotRequest{
		RPCHeader: head(), SnapshotVersion: raft.SnapshotVersionMax, Term: staleTerm, LastLogIndex: index,
		LastLogTerm: staleTerm, Size: 8,
		Configuration: raft.EncodeConfiguration(members), ConfigurationIndex: 1,
	}, numbered(index))
	return err == nil && answer.(*raft.InstallSnapshotResponse).Success
}

// append sends the entries from one to another, of which all but the last few are committed.
func (f *follower) append(from, to, committed uint64) {
	f.t.Helper()
	f.appendOf(staleTerm, from, to, committed)
}

// appendOf is append by the leader of a term. The entry before them is of staleTerm.
func (f *follower) appendOf(term, from, to, committed uint64) {
	f.t.Helper()
	args := &raft.AppendEntriesRequest{RPCHeader: head(), Term: term, PrevLogEntry: from - 1, PrevLogTerm: staleTerm,
		LeaderCommitIndex: committed}
	for i := from; i <= to; i++ {
		args.Entries = append(args.Entries, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: numbered(i)})
	}
	if answer, err := f.fed.answer(f.t, args, nil); err != nil || !answer.(*raft.AppendEntriesResponse).Success {
		f.t.Fatalf("entries %d to %d: %+v, %v", from, to, answer, err)
	}
}

// state waits until the state machine has applied all committed entries, and returns its number.
func (f *follower) state() uint64 {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	_ = f.Await(ctx, func() error { return f.Snapshot().Error() })
	return f.machine.number
}

// A leader that has waited too long for an answer sends its snapshot once more, on another connection. The first
// snapshot may be served last, even after later entries: then it changes nothing, and no entry is forgotten that this
// node has confirmed.
func TestStaleSnapshotChangesNothing(t *testing.T) {
	for name, committed := range map[string]uint64{"applied": 12, "confirmed": 10} {
		t.Run(name, func(t *testing.T) {
			f := newFollower(t)
			if !f.install(10) || f.state() != 10 {
				t.Fatalf("not installed: %d", f.machine.number)
			}
			if !f.install(10) {
				t.Error("what is here already and has nothing behind it, is not installed again, so its sender would repeat it for ever")
			}
			f.append(11, 12, committed)
			if got := f.state(); got != committed {
				t.Fatalf("entry %d is applied, want %d", got, committed)
			}
			for _, stale := range []uint64{10, 9} {
				if f.install(stale) {
					t.Errorf("the state after entry %d is installed behind entry 12", stale)
				}
				var entry raft.Log
				if err := f.store.Logs().GetLog(12, &entry); err != nil {
					t.Errorf("entry 12, which this node has confirmed: %v", err)
				}
				if got := f.state(); got != committed {
					t.Errorf("the state is that of entry %d, want %d", got, committed)
				}
			}
			f.append(13, 13, 13)
			if got := f.state(); got != 13 {
				t.Errorf("the state is that of entry %d, want 13", got)
			}
			if all, err := f.store.Snapshots().List(); err != nil || len(all) != 1 || all[0].Index != 10 {
				t.Errorf("the newest snapshot is %+v, %v", all, err)
			}
			if !f.install(20) || f.state() != 20 {
				t.Errorf("a newer snapshot is not installed: the state is that of entry %d", f.machine.number)
			}
		})
	}
}

// Entries after a snapshot that were never committed give way to the next leader's entries, though the log no longer has
// the entry before them.
func TestEntriesAfterASnapshotGiveWay(t *testing.T) {
	for name, restarted := range map[string]bool{"at work": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			f := newFollower(t)
			if !f.install(10) {
				t.Fatal("not installed")
			}
			f.append(11, 14, 10)
			if restarted {
				f.restart()
			}
			f.appendOf(staleTerm+1, 11, 12, 12)
			var entry raft.Log
			if err := f.store.Logs().GetLog(13, &entry); !errors.Is(err, raft.ErrLogNotFound) {
				t.Errorf("entry 13, which was never committed: %+v, %v", entry, err)
			}
			if got := f.state(); got != 12 {
				t.Errorf("the state is that of entry %d, want 12", got)
			}
		})
	}
}
