package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/server"
)

// membership is a node as the server sees it: it says in the server's words what package cluster says in its own, and
// waits where the server may not.
type membership struct {
	node          *cluster.Node
	moved         bool // --redirect moved
	decideTimeout time.Duration
	life          context.Context // ends with the node
}

// orderTimeout bounds what an operator asks for. A member that is added may have to be heard of first.
const orderTimeout = 15 * time.Second

// Redirects implements [server.Membership].
func (m *membership) Redirects() (leader string, redirect bool) {
	leads, client := m.node.Leads()
	return client, m.moved && !leads
}

func (m *membership) await(done func(error), do func(ctx context.Context) error) {
	go func() {
		ctx, cancel := context.WithTimeout(m.life, orderTimeout)
		defer cancel()
		done(inServersWords(do(ctx)))
	}()
}

// inServersWords gives the errors that clients are to tell apart the server's names.
func inServersWords(err error) error {
	switch {
	case errors.Is(err, cluster.ErrNoLeader):
		return server.ErrNoLeader
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("not done within %v; it may still be", orderTimeout)
	case errors.Is(err, context.Canceled):
		return errors.New("this node is being ended")
	}
	return err
}

// Add implements [server.Membership].
func (m *membership) Add(id, addr string, voter bool, done func(error)) {
	m.await(done, func(ctx context.Context) error { return m.node.Add(ctx, id, addr, voter) })
}

// Remove implements [server.Membership].
func (m *membership) Remove(id string, done func(error)) {
	m.await(done, func(ctx context.Context) error { return m.node.Remove(ctx, id) })
}

// Transfer implements [server.Membership].
func (m *membership) Transfer(id string, done func(error)) {
	m.await(done, func(ctx context.Context) error { return m.node.Transfer(ctx, id) })
}

// Snapshot implements [server.Membership]. It takes as long as it takes.
func (m *membership) Snapshot(done func(error)) {
	go func() { done(inServersWords(m.node.Snapshot(m.life))) }()
}

// Barrier implements [server.Membership].
func (m *membership) Barrier(done func(error)) {
	go func() {
		ctx, cancel := context.WithTimeout(m.life, m.decideTimeout)
		defer cancel()
		err := m.node.Barrier(ctx)
		if err != nil && m.life.Err() == nil {
			err = server.ErrNoLeader // whatever was in the way: nobody could be asked in time
		}
		done(err)
	}()
}

// Wait implements [server.Membership].
func (m *membership) Wait(replicas int, timeout time.Duration, done func(acknowledged int)) {
	go func() {
		ctx, cancel := m.life, func() {}
		if timeout > 0 {
			ctx, cancel = context.WithTimeout(m.life, timeout)
		}
		defer cancel()
		done(m.node.WaitFor(ctx, replicas))
	}()
}

// Status implements [server.Membership].
func (m *membership) Status() server.ClusterStatus {
	st := m.node.Status()
	s := server.ClusterStatus{
		ClusterID: st.ClusterID, NodeID: st.Node, State: server.ClusterState(st.State), Term: st.Term,
		LeaderID: st.LeaderNode, LeaderAddr: st.LeaderAddr, LeaderClientAddr: st.LeaderClient, LastContact: st.LastContact, LastLeaderID: st.LastLeader,
		LastLogIndex: st.LastLogIndex, CommitIndex: st.CommitIndex, AppliedIndex: st.AppliedIndex, LastSnapshotIndex: st.LastSnapshotIndex,
		LogBytes: st.LogBytes, DiskStalled: st.DiskStalled, Time: st.Time,
		Entries: st.Proposed, Decisions: st.Decisions, DeniedLocally: st.Settled, Forwarded: st.Forwarded,
		UncertainOutcomes: st.Uncertain, NoLeaderOutcomes: st.NoLeader, LeaderChanges: st.LeaderChanges,
		CommitLatency: server.Latency{Bounds: st.LatencyBounds, Counts: st.LatencyCounts, Sum: st.LatencySum},
	}
	for _, n := range st.Members {
		s.Members = append(s.Members, server.ClusterMember{
			ID: n.Node, Addr: n.Addr, ClientAddr: n.Client, Voter: n.Voter, Leader: n.Leader, Reachable: n.Reachable,
			AppliedIndex: n.AppliedIndex, LastContact: n.LastContact,
		})
	}
	return s
}
