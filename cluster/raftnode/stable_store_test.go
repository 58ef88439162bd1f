package raftnode

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testwait"
)

const currentTerm = "CurrentTerm" // as Raft calls it

// watchedTerms calls a function before the term of a vote is written.
type watchedTerms struct {
	raft.StableStore
	writes func()
}

func (s watchedTerms) SetUint64(key []byte, value uint64) error {
	if string(key) == currentTerm && value > staleTerm {
		s.writes()
	}
	return s.StableStore.SetUint64(key, value)
}

// A voter that hears the leader while its disk writes the term of another node's vote has renewed the leader's lease. So
// it does not vote, unless the leader has offered the leadership, and has no lease.
func TestNoVoteIfTheLeaderIsHeardMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name                     string
		isHeard, isOffered, want bool
	}{
		{"a silent leader", false, false, true},
		{"a leader that is heard", true, false, false},
		{"a leader that is heard and offers the leadership", true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var handle func(raft.RPC)
			heard := make(chan raft.RPCResponse, 1)
			f := newFollowerWith(t, func(stable raft.StableStore) raft.StableStore {
				if err := stable.SetUint64([]byte(currentTerm), staleTerm); err != nil {
					t.Fatal(err)
				}
				return watchedTerms{stable, func() {
					if c.isHeard {
						handle(raft.RPC{Command: &raft.AppendEntriesRequest{RPCHeader: head(), Term: staleTerm}, RespChan: heard})
					}
				}}
			}, func(h func(raft.RPC)) { handle = h })
			candidate := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("other"), Addr: []byte("other:1")}
			answer, err := f.fed.answer(t, &raft.RequestVoteRequest{RPCHeader: candidate, Term: staleTerm + 1, LeadershipTransfer: c.isOffered}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := answer.(*raft.RequestVoteResponse).Granted; got != c.want {
				t.Errorf("it votes: %t, want %t", got, c.want)
			}
			if c.isHeard && !(<-heard).Response.(*raft.AppendEntriesResponse).Success {
				t.Error("the leader is not heard: this test shows nothing")
			}
		})
	}
}

// A node that stands for election hears the leader, and is asked for its vote by another node while it handles that
// heartbeat. Raft has compared the heartbeat with the term before the vote, so it must be handled before the vote.
func TestNoVoteBesideAHeartbeat(t *testing.T) {
	var handle func(raft.RPC)
	began, goOn := make(chan struct{}), make(chan struct{})
	var isHeld atomic.Bool
	keep := func(stable raft.StableStore) raft.StableStore { return stable }
	f := newFollowerWith(t, keep, func(h func(raft.RPC)) { handle = h })
	f.timeout, f.observe = 50*time.Millisecond, func(o *raft.Observation) bool {
		if s, is := o.Data.(raft.RaftState); is && s == raft.Follower && isHeld.CompareAndSwap(true, false) {
			close(began)
			<-goOn
		}
		return false
	}
	f.restart()
	if !f.install(10) {
		t.Fatal("not installed")
	}
	testwait.Until(t, "it stands for election", func() bool { return f.State() == raft.Candidate })
	isHeld.Store(true)
	heard, voted := make(chan raft.RPCResponse, 1), make(chan raft.RPCResponse, 1)
	go handle(raft.RPC{Command: &raft.AppendEntriesRequest{RPCHeader: head(), Term: staleTerm}, RespChan: heard})
	<-began
	candidate := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("leader"), Addr: []byte("other:1")}
	f.fed.came <- raft.RPC{RespChan: voted, Command: &raft.RequestVoteRequest{RPCHeader: candidate, Term: staleTerm + 1, LastLogIndex: 10, LastLogTerm: staleTerm}}
	testwait.Until(t, "it has voted, or waits", func() bool {
		waits := !f.hearing.TryRLock()
		if !waits {
			f.hearing.RUnlock()
		}
		return waits || len(voted) > 0
	})
	close(goOn)
	if (<-voted).Response.(*raft.RequestVoteResponse).Granted && (<-heard).Response.(*raft.AppendEntriesResponse).Success {
		t.Error("it has voted, and then renewed the lease of the leader before")
	}
}
