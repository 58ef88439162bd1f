package group

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/transport"
)

// raftNode is this node's Raft: the members by its configuration, changes of its settings, and questions that may take long.
type raftNode struct {
	*raft.Raft                 // nil before the start
	ctx        context.Context // ends with the node
	id         raft.ServerID
	clock      *clock.Clock
	heartbeat  time.Duration
	transport  *transport.RaftTransport
	log        *slog.Logger
	fail       func(error) // called when the node cannot go on

	running   atomic.Bool // Raft has started
	reloading sync.Mutex  // while Raft's settings are being changed

	mu          sync.Mutex
	ending      bool           // the node is being closed: ask Raft nothing
	outstanding sync.WaitGroup // questions that Raft has not answered
}

// newRaftNode returns one that does nothing yet.
func newRaftNode(ctx context.Context, id raft.ServerID, heartbeat time.Duration, c *clock.Clock, log *slog.Logger, fail func(error)) *raftNode {
	g := &raftNode{ctx: ctx, id: id, clock: c, heartbeat: heartbeat, log: log, fail: fail}
	g.transport = &transport.RaftTransport{Ctx: ctx, RetryEvery: heartbeat / 3, Mono: c.Mono, IsDue: g.replicatesTo}
	return g
}

// servers is the cluster's configuration as this node's log has it.
func (g *raftNode) servers() []raft.Server {
	f := g.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// own is this node as its log's configuration has it.
func (g *raftNode) own() (own raft.Server, listed bool) {
	servers := g.servers()
	i := slices.IndexFunc(servers, func(s raft.Server) bool { return s.ID == g.id })
	if i < 0 {
		return raft.Server{}, false
	}
	return servers[i], true
}

// idAt returns the id of the member at an address, by this node's log.
func (g *raftNode) idAt(address string) raft.ServerID {
	for _, s := range g.servers() {
		if string(s.Address) == address {
			return s.ID
		}
	}
	return ""
}

// member returns a member by its name or its id.
func (g *raftNode) member(node string) (raft.Server, error) {
	for _, s := range g.servers() {
		if NodeName(s.ID) == node || string(s.ID) == node {
			return s, nil
		}
	}
	return raft.Server{}, fmt.Errorf("there is no member '%s'; RAFT NODES lists those there are", node)
}

// hasLog reports whether this node has been in a cluster.
func (g *raftNode) hasLog() bool { return g.LastIndex() > 0 }

// replicatesTo reports whether this node leads in a term and has another node at an address among the members.
func (g *raftNode) replicatesTo(id raft.ServerID, target raft.ServerAddress, term uint64) bool {
	return g.ctx.Err() == nil && g.State() == raft.Leader && g.CurrentTerm() == term &&
		slices.ContainsFunc(g.servers(), func(s raft.Server) bool { return s.ID == id && s.Address == target })
}

// progressOf returns the index up to which another node has this leader's log, and whether that node has answered
// within the heartbeat timeout.
func (g *raftNode) progressOf(s raft.Server) (match uint64, heard bool) {
	return g.transport.Follower(s.ID).Progress(g.CurrentTerm(), g.clock.Mono()-g.heartbeat)
}

// reload changes Raft's settings while it runs.
func (g *raftNode) reload(change func(*raft.ReloadableConfig)) error {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	config := g.ReloadableConfig()
	change(&config)
	return g.ReloadConfig(config)
}

// await runs f, which asks Raft something and may take long. It returns early when ctx is done. A node that is being
// closed asks Raft nothing.
func (g *raftNode) await(ctx context.Context, f func() error) error {
	g.mu.Lock()
	if g.ending {
		g.mu.Unlock()
		return raft.ErrRaftShutdown
	}
	g.outstanding.Add(1)
	g.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer g.outstanding.Done()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// letAnswer gives Raft a moment for its outstanding answers: after its shutdown some futures never complete. asking counts the
// goroutines that still ask.
func (g *raftNode) letAnswer(asking *sync.WaitGroup) {
	g.mu.Lock()
	g.ending = true
	g.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		asking.Wait()
		g.outstanding.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(time.Second):
	}
}

// NodeName is the name in a server id.
func NodeName(id raft.ServerID) string {
	name, _, _ := strings.Cut(string(id), "#")
	return name
}
