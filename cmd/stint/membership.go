package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
)

// membership adapts a node to the server: it translates between the terms of package cluster and package server, and
// waits in goroutines, because the server's event loops may not wait.
type membership struct {
	node          *cluster.Node
	moved         bool // --redirect moved
	decideTimeout time.Duration
	life          context.Context // ends with the node
}

// orderTimeout bounds an operator's request. The leader may first have to connect to a member that is added.
const orderTimeout = 15 * time.Second

// Redirects implements [server.Membership].
func (m *membership) Redirects(op *engine.Op) (leader string, redirect bool) {
	leads, client := m.node.LeaderOf(op)
	return client, m.moved && !leads
}

// AwaitsImport implements [server.Membership].
func (m *membership) AwaitsImport() bool { return m.node.Status().AwaitsImport }

// TooNew implements [server.Membership].
func (m *membership) TooNew(ops []engine.Op) error { return m.node.Group().TooNew(ops) }

func (m *membership) await(done func(error), do func(ctx context.Context) error) {
	go func() {
		ctx, cancel := context.WithTimeout(m.life, orderTimeout)
		defer cancel()
		done(mapError(do(ctx)))
	}()
}

// mapError maps the errors that clients distinguish to those of package server.
func mapError(err error) error {
	switch {
	case errors.Is(err, group.ErrNoLeader):
		return server.ErrNoLeader
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the change did not finish within %v, but it may still succeed", orderTimeout)
	case errors.Is(err, context.Canceled):
		return errors.New("this node is shutting down")
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

// Snapshot implements [server.Membership]. It has no timeout.
func (m *membership) Snapshot(done func(error)) {
	go func() { done(mapError(m.node.Snapshot(m.life))) }()
}

// Barrier implements [server.Membership].
func (m *membership) Barrier(done func(error)) {
	go func() {
		ctx, cancel := context.WithTimeout(m.life, m.decideTimeout)
		defer cancel()
		err := m.node.Barrier(ctx)
		switch {
		case errors.Is(err, cluster.ErrImporting):
			err = server.ErrImporting
		case err != nil && m.life.Err() == nil:
			err = server.ErrNoLeader // for any cause: no leader answered in time
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
func (m *membership) Status() clusterstatus.Status { return m.node.Status() }

// Leads implements [server.Membership].
func (m *membership) Leads() bool {
	leads, _ := m.node.Group().Leads()
	return leads
}

// Leaders implements [server.Membership].
func (m *membership) Leaders() uint64 { return cluster.Leaders(m.node) }
