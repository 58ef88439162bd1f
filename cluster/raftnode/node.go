// Package raftnode is Raft on one node of a group: with a log that is watched, votes that are repeated when the disk
// refuses them, and a start without panics.
package raftnode

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

	"github.com/stintdb/stint/cluster/asynclog"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/transport"
)

// Node is this node's Raft: the members by its configuration, changes of its settings, and questions that may take
// long.
type Node struct {
	*raft.Raft                 // nil before the start
	Ctx        context.Context // ends with the node
	ID         raft.ServerID
	clock      *clock.Clock
	heartbeat  time.Duration
	Transport  *transport.RaftTransport
	entries    *asynclog.Log // the log as Raft sees it
	log        *slog.Logger
	fail       func(error) // called when the node cannot go on

	hearing   sync.RWMutex                      // locked for reading while a heartbeat is handled
	running   atomic.Bool                       // Raft has started
	isOffered bool                              // the last node that asked for a vote was offered the leadership by the leader
	restored  atomic.Pointer[raft.SnapshotMeta] // the last snapshot that replaced the state
	reloading sync.Mutex                        // held while Raft's settings are being changed

	leadsSince atomic.Int64 // on the monotonic clock; 0 if this node does not lead
	lost       atomic.Pointer[loss]
	paused     atomic.Pointer[pause]

	mu          sync.Mutex
	ending      bool           // the node is being closed: Raft is asked nothing more
	Outstanding sync.WaitGroup // questions that Raft has not answered
}

// New returns a node that does nothing yet.
func New(ctx context.Context, id raft.ServerID, heartbeat time.Duration, c *clock.Clock, log *slog.Logger,
	fail func(error)) *Node {
	n := &Node{Ctx: ctx, ID: id, clock: c, heartbeat: heartbeat, log: log, fail: fail}
	n.Transport = &transport.RaftTransport{Ctx: ctx, RetryEvery: heartbeat / 3, Now: c.Moment, IsDue: n.replicatesTo}
	return n
}

// Servers returns the cluster's configuration as this node's log has it.
func (n *Node) Servers() []raft.Server {
	f := n.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// Own returns this node as its log's configuration has it.
func (n *Node) Own() (own raft.Server, listed bool) {
	servers := n.Servers()
	i := slices.IndexFunc(servers, func(s raft.Server) bool { return s.ID == n.ID })
	if i < 0 {
		return raft.Server{}, false
	}
	return servers[i], true
}

// HasOthers reports whether other nodes vote. A node alone stays Raft's leader even while it is isolated.
func (n *Node) HasOthers() bool {
	return slices.ContainsFunc(n.Servers(), func(s raft.Server) bool { return s.Suffrage == raft.Voter && s.ID != n.ID })
}

// IDAt returns the id of the member at an address, by this node's log.
func (n *Node) IDAt(address string) raft.ServerID {
	for _, s := range n.Servers() {
		if string(s.Address) == address {
			return s.ID
		}
	}
	return ""
}

// Member returns a member by its name or its id.
func (n *Node) Member(node string) (raft.Server, error) {
	for _, s := range n.Servers() {
		if NodeName(s.ID) == node || string(s.ID) == node {
			return s, nil
		}
	}
	return raft.Server{}, fmt.Errorf("there is no member '%s'; RAFT NODES lists the members", node)
}

// HasLog reports whether this node has been in a cluster.
func (n *Node) HasLog() bool { return n.LastIndex() > 0 }

// leads reports whether this node leads, in Raft's eyes.
func (n *Node) leads() bool { return n.running.Load() && n.State() == raft.Leader }

// leadsIn reports whether this node leads in a term.
func (n *Node) leadsIn(term uint64) bool { return n.leads() && n.CurrentTerm() == term }

// DiskFails reports whether the disk refuses entries that this node has taken as leader.
func (n *Node) DiskFails() bool { return n.entries.Fails() }

// ShutDown ends Raft, which may wait for the disk.
func (n *Node) ShutDown() error {
	ended := n.Shutdown()
	n.entries.Close()
	return ended.Error()
}

// replicatesTo reports whether this node leads in a term and has another node at an address among the members.
func (n *Node) replicatesTo(id raft.ServerID, target raft.ServerAddress, term uint64) bool {
	return n.Ctx.Err() == nil && n.leadsIn(term) &&
		slices.ContainsFunc(n.Servers(), func(s raft.Server) bool { return s.ID == id && s.Address == target })
}

// ProgressOf returns the index up to which another node has this leader's log, and whether that node has answered
// within the heartbeat timeout.
func (n *Node) ProgressOf(s raft.Server) (match uint64, heard bool) {
	return n.Transport.Follower(s.ID).Progress(n.CurrentTerm(), n.clock.Mono()-n.heartbeat)
}

// Reload changes Raft's settings while it runs.
func (n *Node) Reload(change func(*raft.ReloadableConfig)) error {
	n.reloading.Lock()
	defer n.reloading.Unlock()
	config := n.ReloadableConfig()
	change(&config)
	return n.ReloadConfig(config)
}

// Await runs f, which asks Raft something and may take long. It returns early when ctx is done. A node that is being
// closed asks Raft nothing.
func (n *Node) Await(ctx context.Context, f func() error) error {
	n.mu.Lock()
	if n.ending {
		n.mu.Unlock()
		return raft.ErrRaftShutdown
	}
	n.Outstanding.Add(1)
	n.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer n.Outstanding.Done()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// LetAnswer gives Raft a moment for its outstanding answers: some futures never complete after its shutdown. asking
// counts the goroutines that still wait for answers.
func (n *Node) LetAnswer(asking *sync.WaitGroup) {
	n.mu.Lock()
	n.ending = true
	n.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		asking.Wait()
		n.Outstanding.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return
	case <-time.After(time.Second):
	}
	if n.entries == nil {
		return
	}
	n.entries.Stop() // some questions may wait for the disk
	select {
	case <-answered:
	case <-time.After(100 * time.Millisecond):
	}
}

// NodeName returns the node's name in a server id.
func NodeName(id raft.ServerID) string {
	name, _, _ := strings.Cut(string(id), "#")
	return name
}
