package raftnode

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/rafttransport"
)

// A node that joins, comes back, or gets a replica needs state that was decided long ago. To send, write and apply it
// costs the same processors, disks and links as decisions, which clients wait for. So it goes in slices: while entries
// are under way, each slice is followed by a turn for these entries. Slices become smaller while entries take longer
// than they did before.

const (
	firstSliceBytes = 64 << 10
	minSliceBytes   = 8 << 10
	maxSliceBytes   = 1 << 20
	// maxTurn bounds the wait for entries that are not decided, for example because too few nodes are up.
	maxTurn = 100 * time.Millisecond
	// newCatchUpAfter is a time without slices after which the next slice begins a new catch-up.
	newCatchUpAfter = 3 * time.Second
	// askAgainEvery is how often a group that waits for its turn looks whether the follower is needed by now.
	askAgainEvery = 50 * time.Millisecond
	restFactor    = 7
	maxRest       = time.Second      // after one block of a snapshot
	maxRests      = 10 * time.Second // in one snapshot: the log that it needs next is not kept for ever
	maxTargets    = 1024
)

// Slices are the slices that a machine sends. Its groups share them, so that a node gets one slice at a time from it.
type Slices struct {
	restoring chan struct{} // holds a token while a snapshot is being read

	mu sync.Mutex
	to map[raft.ServerAddress]*slicesTo
}

// NewSlices returns the slices of a machine.
func NewSlices() *Slices {
	return &Slices{restoring: make(chan struct{}, 1), to: map[raft.ServerAddress]*slicesTo{}}
}

// slicesTo are the slices to one node.
type slicesTo struct {
	sending chan struct{} // holds a token while a slice, or a whole snapshot, is under way

	// The holder of the token has these.
	bytes int           // of the next slice
	usual time.Duration // about what an entry took when the catch-up began, and slowly what it takes now; 0 if unknown
	ended time.Time     // when the last slice ended
}

// begin waits until no other group sends to the node. It returns nil if ctx has ended, or if the node is needed: then
// nothing waits any more.
func (s *Slices) begin(ctx context.Context, address raft.ServerAddress, latency time.Duration, isNeeded func() bool) *slicesTo {
	s.mu.Lock()
	t := s.to[address]
	if t == nil {
		if len(s.to) >= maxTargets {
			clear(s.to)
		}
		t = &slicesTo{sending: make(chan struct{}, 1)}
		s.to[address] = t
	}
	s.mu.Unlock()
	again := time.NewTicker(askAgainEvery)
	defer again.Stop()
	for {
		select {
		case t.sending <- struct{}{}:
			if time.Since(t.ended) > newCatchUpAfter {
				t.bytes, t.usual = firstSliceBytes, latency
			}
			return t
		case <-again.C:
			if isNeeded() {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// adapt chooses the length of the next slice by what an entry takes now.
func (t *slicesTo) adapt(latency time.Duration) {
	if t.usual == 0 {
		t.usual = latency
	}
	t.usual += (latency - t.usual) / 64 // or a load that has grown would keep slices small for ever
	if latency > t.usual*5/4 {
		t.bytes = max(t.bytes/2, minSliceBytes)
	} else {
		t.bytes = min(t.bytes*9/8, maxSliceBytes)
	}
}

// end lets other groups send to the node.
func (s *Slices) end(t *slicesTo) {
	t.ended = time.Now()
	<-t.sending
}

// sendSlice sends a slice of the entries that a follower lacks, and then lets entries that are under way be decided.
func (t durableTransport) sendSlice(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	needed := func() bool { return t.isNeeded(id, args.LeaderCommitIndex) }
	to := t.slices.begin(t.Ctx, target, t.latency(), needed)
	if to == nil {
		return t.send(id, target, args, resp)
	}
	defer t.slices.end(to)
	args.Entries = rafttransport.Fitting(args.Entries, to.bytes)
	err := t.send(id, target, args, resp)
	t.giveTurn(args.Term, to)
	return err
}

// giveTurn waits until the entries that are under way have been applied.
func (t durableTransport) giveTurn(term uint64, to *slicesTo) {
	to.adapt(t.latency())
	last, err := t.log.LastIndex()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Ctx, maxTurn)
	defer cancel()
	for t.leads(term) && ctx.Err() == nil {
		moved := t.machine.moved.Wait()
		if t.machine.done.Load() >= last {
			return
		}
		notifier.Pause(ctx, moved, maxTurn)
	}
}

// lagsBehind reports whether a message brings entries that others have decided long ago, to a follower that no majority
// needs: the leader never makes decisions wait for a follower without which there are none.
func (t durableTransport) lagsBehind(id raft.ServerID, args *raft.AppendEntriesRequest) bool {
	n := len(args.Entries)
	return n > 0 && args.Entries[n-1].Index+maxEntries < args.LeaderCommitIndex &&
		!t.isNeeded(id, args.LeaderCommitIndex)
}

// InstallSnapshot implements raft.Transport. A snapshot goes in slices too.
func (t durableTransport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress,
	args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	var to *slicesTo
	needed := func() bool { return t.isNeeded(id, args.LastLogIndex) }
	if !needed() {
		to = t.slices.begin(t.Ctx, target, t.latency(), needed)
	}
	if to == nil {
		return t.RaftTransport.InstallSnapshot(id, target, args, resp, data)
	}
	defer t.slices.end(to)
	return t.RaftTransport.InstallSnapshot(id, target, args, resp, &slicedReader{data, t, to, args.Term, needed, 0})
}

// slicedReader reads a snapshot, and gives a turn to entries after each slice.
type slicedReader struct {
	io.Reader
	transport durableTransport
	to        *slicesTo
	term      uint64
	isNeeded  func() bool
	read      int // of the slice
}

func (r *slicedReader) Read(b []byte) (int, error) {
	if r.read >= r.to.bytes {
		if r.read = 0; r.isNeeded() {
			r.to.bytes = maxSliceBytes
		} else {
			r.transport.giveTurn(r.term, r.to)
		}
	}
	n, err := r.Reader.Read(b[:min(len(b), r.to.bytes-r.read)])
	r.read += n
	return n, err
}

// isNeeded reports whether the voters that have answered lately, and have about all entries up to an index, are no
// majority without a follower that votes.
func (n *Node) isNeeded(id raft.ServerID, index uint64) bool {
	voters, useful, votes := 0, 0, false
	for _, s := range n.Servers() {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		match, heard := n.ProgressOf(s)
		switch {
		case s.ID == id:
			votes = true
		case s.ID == n.ID, heard && match+maxEntries >= index:
			useful++
		}
	}
	return votes && useful <= voters/2
}

// restingSnapshot is a snapshot that a node at work reads. It rests seven eighths of the time, so that the node's other
// groups, and other programs, get the processors. Where these are busy, a block takes longer, and so does the rest.
type restingSnapshot struct {
	io.ReadCloser
	ctx    context.Context
	rested atomic.Int64 // nanoseconds of all rests
}

var _ fsm.Resting = (*restingSnapshot)(nil)

// Rest implements fsm.Resting.
func (s *restingSnapshot) Rest(took time.Duration) {
	rest := min(restFactor*took, maxRest)
	if s.rested.Add(int64(rest)) <= int64(maxRests) {
		notifier.Pause(s.ctx, nil, rest)
	}
}

// resting returns a snapshot that another node has sent, to be read into the state: one at a time, and with rests. A
// node that votes reads it at once, because the others may have no majority without it.
func (m *durableMachine) resting(from io.ReadCloser) (paced io.ReadCloser, ended func()) {
	if !m.node.running.Load() {
		return from, func() {}
	}
	if own, listed := m.node.Own(); listed && own.Suffrage == raft.Voter {
		return from, func() {}
	}
	select {
	case m.slices.restoring <- struct{}{}:
		ended = func() { <-m.slices.restoring }
	case <-m.node.Ctx.Done():
		ended = func() {}
	}
	return &restingSnapshot{ReadCloser: from, ctx: m.node.Ctx}, ended
}
