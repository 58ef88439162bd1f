package raftnode

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/asynclog"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/transport"
)

// counted counts the entries that reach the state machine.
type counted struct {
	machine
	applied, configurations, snapshots int
}

func (c *counted) Apply(*raft.Log) any                           { c.applied++; return nil }
func (c *counted) StoreConfiguration(uint64, raft.Configuration) { c.configurations++ }
func (c *counted) Snapshot() (raft.FSMSnapshot, error)           { c.snapshots++; return nil, nil }

// After an entry was left out, because the log was stopped before the disk had it, no later entry is applied, and no
// snapshot is taken.
func TestNothingFollowsAnEntryThatTheDiskLacks(t *testing.T) {
	log, err := asynclog.New(raft.NewInmemStore(), func() bool { return false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	below := &counted{}
	m := &durableMachine{machine: below, log: log}
	use := func(index uint64) any {
		m.StoreConfiguration(index, raft.Configuration{})
		_, _ = m.Snapshot()
		return m.Apply(&raft.Log{Index: index})
	}
	store := func(index uint64) {
		if err := log.StoreLog(&raft.Log{Index: index}); err != nil {
			t.Fatal(err)
		}
	}
	if store(1); use(1) != nil || *below != (counted{applied: 1, configurations: 1, snapshots: 1}) {
		t.Errorf("%+v", below)
	}
	log.Stop()
	if m.Apply(&raft.Log{Index: 2}) == nil {
		t.Error("an entry is applied that the disk does not have")
	}
	store(2)
	store(3) // a write that was under way
	if use(3) == nil || *below != (counted{applied: 1, configurations: 1, snapshots: 1}) {
		t.Errorf("%+v", below)
	}
}

// There is no pipeline, in which the commit index would leave unchanged.
func TestNoPipeline(t *testing.T) {
	if _, err := (durableTransport{}).AppendEntriesPipeline("", ""); !errors.Is(err,
		raft.ErrPipelineReplicationNotSupported) {
		t.Error(err)
	}
}

// A node that has lost the lead while it read the entries of a message does not send it.
func TestNoEntriesOfAFormerTerm(t *testing.T) {
	log, err := asynclog.New(raft.NewInmemStore(), func() bool { return false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	to := durableTransport{RaftTransport: &transport.RaftTransport{}, log: log, leads: func(term uint64) bool {
		return term == 5
	}}
	if err := to.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 1},
		&raft.AppendEntriesResponse{}); !errors.Is(err, raft.ErrLeadershipLost) {
		t.Error(err)
	}
}

// agreeing is a follower that agrees to all messages.
type agreeing struct{ transport.Messenger }

func (agreeing) AppendEntries(_ raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	*resp = raft.AppendEntriesResponse{Term: args.Term, Success: true}
	return nil
}

// A message without entries goes out at the next beat if it has news, or the follower may have been started again, and
// seldom otherwise. If an entry comes, it goes out at once, with that.
func TestMessagesWithoutNewsAreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const beats = 50 * time.Millisecond
		log, err := asynclog.New(raft.NewInmemStore(), func() bool { return false }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		store := func(index uint64) {
			if err := log.StoreLog(&raft.Log{Index: index}); err != nil {
				t.Error(err)
			}
		}
		to := durableTransport{RaftTransport: &transport.RaftTransport{Messenger: agreeing{}, Ctx: t.Context(),
			Now: func() (m clock.Moment) { return m }}, log: log, leads: func(uint64) bool { return true }, beats: beats}
		sends := func(term, last, commit uint64) (entries []*raft.Log, took time.Duration) {
			began, m := time.Now(), raft.AppendEntriesRequest{Term: term, PrevLogEntry: last, PrevLogTerm: 1,
				LeaderCommitIndex: commit}
			if err := to.AppendEntries("b", "b", &m, &raft.AppendEntriesResponse{}); err != nil {
				t.Error(err)
			}
			return m.Entries, time.Since(began)
		}
		store(1)
		for _, c := range []struct {
			why                string
			term, last, commit uint64
			meanwhile          func()
			want               time.Duration
		}{
			{"the first one", 1, 1, 0, nil, beats},
			{"another node may commit the entry at any time", 1, 1, 0, nil, beats},
			{"another commit index", 1, 1, 1, nil, beats},
			{"nothing new", 1, 1, 1, nil, repeatEvery - 3*beats + beats/2},
			{"nothing new again", 1, 1, 1, nil, repeatEvery},
			{"another term", 2, 1, 1, nil, beats / 2},
			{"the follower connects", 2, 1, 1, func() { to.NoteConnected("b") }, 10 * time.Millisecond},
			{"an entry comes", 2, 1, 1, func() { store(2) }, 10 * time.Millisecond},
			{"a message behind which there are entries", 2, 1, 1, nil, 0},
		} {
			if c.meanwhile != nil {
				time.AfterFunc(10*time.Millisecond, c.meanwhile)
			}
			entries, took := sends(c.term, c.last, c.commit)
			if took != c.want {
				t.Errorf("%s: sent after %v, want %v", c.why, took, c.want)
			}
			if last, err := log.LastIndex(); err != nil || len(entries) != int(last-c.last) {
				t.Errorf("%s: it brings %d entries behind %d of %d, %v", c.why, len(entries), c.last, last, err)
			}
		}
	})
}
