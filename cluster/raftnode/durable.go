package raftnode

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/asynclog"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cluster/transport"
)

// While this node leads, Raft counts its entries before they are on its disk (package asynclog). So nothing may leave
// Raft that could rest on an entry that is not on this disk: not its effect, not the commit index, and no message in
// another term. Decision 0034 has the proof.

// machine is the state machine that Raft applies entries to.
type machine interface {
	raft.FSM
	raft.ConfigurationStore
}

// durableMachine applies the entries that are on this node's disk. Raft calls it from one goroutine.
type durableMachine struct {
	machine
	log       *asynclog.Log
	onRestore func(*raft.SnapshotMeta) // called after a snapshot has replaced the state
	slices    *Slices
	node      *Node
	applied   uint64 // index of the last entry in the state, as far as Raft tells
	ended     bool   // an entry was not applied, so none of the following is

	done  atomic.Uint64 // is applied, once the entry's effect can be seen
	moved notifier.Notifier
}

// note notes that an entry has had its effect.
func (m *durableMachine) note(index uint64) {
	m.done.Store(index)
	m.moved.Broadcast()
}

// Apply implements raft.FSM. It returns an error if the log was stopped before the entry was on the disk.
func (m *durableMachine) Apply(entry *raft.Log) any {
	if m.ended = m.ended || !m.log.AwaitDurable(entry.Index); m.ended {
		return raft.ErrRaftShutdown
	}
	m.applied = entry.Index
	defer m.note(entry.Index)
	return m.machine.Apply(entry)
}

// StoreConfiguration implements raft.ConfigurationStore.
func (m *durableMachine) StoreConfiguration(index uint64, c raft.Configuration) {
	if !m.ended {
		m.applied = index
		m.machine.StoreConfiguration(index, c)
		m.note(index)
	}
}

// Snapshot implements raft.FSM.
func (m *durableMachine) Snapshot() (raft.FSMSnapshot, error) {
	if m.ended {
		return nil, raft.ErrRaftShutdown // Raft takes the entries that were left out for applied
	}
	return m.machine.Snapshot()
}

// Restore implements raft.FSM. It refuses a stale snapshot, and Raft then leaves its log as it is.
func (m *durableMachine) Restore(from io.ReadCloser) error {
	meta := metaOf(from)
	if m.isStale(meta) {
		return errors.Join(fmt.Errorf("the snapshot of entry %d is stale: entry %d is applied", meta.Index, m.applied),
			from.Close())
	}
	from, ended := m.resting(from)
	defer ended()
	err := m.machine.Restore(from)
	if err == nil {
		m.applied = meta.Index
		m.note(meta.Index)
		m.onRestore(meta)
	}
	return err
}

// isStale reports whether a snapshot ends before the state or the log of this node. A leader that gives up waiting for
// an answer sends its snapshot again, on another connection, and the node may read the first one last. Raft would
// install it, and remove the whole log, including entries that this node has confirmed.
func (m *durableMachine) isStale(s *raft.SnapshotMeta) bool {
	switch last, err := m.log.LastIndex(); {
	case m.applied == 0: // at the start the log goes on from the snapshot
		return false
	case s.Index < m.applied:
		return true
	default:
		return err == nil && last > s.Index && (s.Index == m.applied || m.hasEntry(s.Index, s.Term))
	}
}

// inspect ends the node if a later leader has another entry in the place of a snapshot that was restored here: the
// leader that imported the snapshot lost the lead before a majority had it. Raft finds no entry there to compare. It
// would skip the leader's entry, or refuse everything that the leader sends.
func (n *Node) inspect(m *raft.AppendEntriesRequest) error {
	s := n.restored.Load()
	if s == nil || m.Term <= s.Term {
		return nil
	}
	isOther := m.PrevLogEntry == s.Index && m.PrevLogTerm != s.Term
	for _, entry := range m.Entries {
		isOther = isOther || entry.Index == s.Index && entry.Term != s.Term
	}
	if !isOther {
		return nil
	}
	err := fmt.Errorf("the cluster did not take over the import that this node has at entry %d: %w", s.Index,
		raftstore.ErrLostState)
	n.fail(err)
	return err
}

// hasEntry reports whether the log has an entry of an index and a term, and so the same entries before it.
func (m *durableMachine) hasEntry(index, term uint64) bool {
	var entry raft.Log
	return m.log.GetLog(index, &entry) == nil && entry.Term == term
}

// snapshots is a store whose snapshots are opened with their metadata.
type snapshots struct{ raft.SnapshotStore }

// openSnapshot is a snapshot that is being read.
type openSnapshot struct {
	io.ReadCloser
	meta *raft.SnapshotMeta
}

// Open implements raft.SnapshotStore.
func (s snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, from, err := s.SnapshotStore.Open(id)
	if err != nil {
		return nil, nil, err
	}
	return meta, openSnapshot{from, meta}, nil
}

// metaOf returns the metadata of a snapshot that Raft has opened.
func metaOf(from io.ReadCloser) *raft.SnapshotMeta {
	for {
		wrapper, isWrapped := from.(raft.ReadCloserWrapper)
		if !isWrapped {
			return from.(openSnapshot).meta
		}
		from = wrapper.WrappedReadCloser()
	}
}

// durableTransport tells other nodes no commit index beyond what this node's disk has: otherwise they would apply an
// entry that is only on their own disk.
type durableTransport struct {
	*transport.RaftTransport
	log      *asynclog.Log
	leads    func(term uint64) bool // reports whether this node leads in a term
	isNeeded func(id raft.ServerID, index uint64) bool
	machine  *durableMachine
	slices   *Slices
	latency  func() time.Duration // of an entry, about
	// beats is the time at whose multiples messages without entries leave, together with other groups' messages; 0 for
	// at once.
	beats time.Duration
}

// AppendEntries implements raft.Transport.
func (t durableTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	if t.beats > 0 && len(args.Entries) == 0 && !transport.IsHeartbeat(args) {
		t.hold(id, args)
		t.addEntries(args)
	}
	if t.lagsBehind(id, args) {
		return t.sendSlice(id, target, args, resp)
	}
	return t.send(id, target, args, resp)
}

func (t durableTransport) send(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	args.LeaderCommitIndex = min(args.LeaderCommitIndex, t.log.Durable())
	// its entries may be from the next leader, after an entry of this node that was replaced while they were read
	if !t.leads(args.Term) {
		return raft.ErrLeadershipLost
	}
	return t.RaftTransport.AppendEntries(id, target, args, resp)
}

// SetHeartbeatHandler implements raft.Transport. Raft handles heartbeats beside its main loop.
func (t durableTransport) SetHeartbeatHandler(handle func(raft.RPC)) {
	hearing := &t.machine.node.hearing
	t.RaftTransport.SetHeartbeatHandler(func(heartbeat raft.RPC) {
		hearing.RLock()
		defer hearing.RUnlock() // also if the goroutine ends in handle
		handle(heartbeat)
	})
}

// hold holds back a message that brings only the commit index, until entries come. It does so for longer if the
// follower knows already that the whole log is committed, and has not been restarted since: heartbeats show that the
// follower is there.
func (t durableTransport) hold(id raft.ServerID, args *raft.AppendEntriesRequest) {
	came := t.log.Came()
	if last, err := t.log.LastIndex(); err != nil || last != args.PrevLogEntry {
		return
	}
	pause := clock.UntilNext(t.beats)
	knows, unsure := t.Follower(id).KnowsAll(args)
	if knows {
		pause = clock.UntilNext(repeatEvery) + t.beats/2 // heartbeats no longer use their connections then
	}
	select {
	case <-came:
	case <-unsure:
	case <-t.Ctx.Done():
	case <-time.After(pause):
	}
}

// addEntries adds to a message the entries that have come since Raft made it: in the next message they would wait for
// the answer to this one. Raft reads from the message which entries were sent.
func (t durableTransport) addEntries(args *raft.AppendEntriesRequest) {
	last, err := t.log.LastIndex()
	last = min(last, args.PrevLogEntry+maxEntries)
	for i := args.PrevLogEntry + 1; err == nil && i <= last; i++ {
		entry := new(raft.Log)
		if err = t.log.GetLog(i, entry); err == nil {
			args.Entries = append(args.Entries, entry)
		}
	}
}

// maxEntries is the number of entries that Raft puts into one message at most.
const maxEntries = 64

// repeatEvery is the time after which a follower gets the commit index again, in case it has been restarted unnoticed.
const repeatEvery = time.Second

// AppendEntriesPipeline implements raft.Transport. There is no pipeline: its messages would bypass AppendEntries.
func (t durableTransport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// durableTerms stores another term only once the whole log is on the disk: in the new term a former leader begins to
// vote, to confirm entries, and to stand for election.
type durableTerms struct {
	raft.StableStore
	log *asynclog.Log
}

// SetUint64 implements raft.StableStore.
func (s durableTerms) SetUint64(key []byte, value uint64) error {
	if err := s.log.Drain(); err != nil {
		return err
	}
	return s.StableStore.SetUint64(key, value)
}
