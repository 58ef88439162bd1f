package transport

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/notifier"
)

// Messenger sends Raft's messages, and delivers messages of other nodes.
type Messenger interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
	// Inspect passes messages of leaders, except heartbeats, to f before Raft. If f returns an error, that is the
	// answer, and Raft does not see the message.
	Inspect(f func(*raft.AppendEntriesRequest) error)
}

// RaftTransport is Raft's network transport, which hides failures from Raft. Raft waits after each failed message to a
// follower, twice as long each time, up to 10 s, and is not woken when the follower comes back. So a message with
// entries is sent again here, as soon as the follower is reachable, until it arrives or its sender no longer leads.
type RaftTransport struct {
	Messenger                  // set before use
	Ctx        context.Context // ends with the node
	RetryEvery time.Duration   // the pause between attempts to reach a silent follower
	Now        func() clock.Moment
	// IsDue reports whether a message of the leader of a term is still to be delivered.
	IsDue func(id raft.ServerID, target raft.ServerAddress, term uint64) bool

	mu        sync.Mutex
	followers map[raft.ServerID]*Follower
}

// Follower is a leader's view of another node, from the messages to it.
type Follower struct {
	reached notifier.Notifier // broadcasts when it has answered a message or made a connection
	unsure  notifier.Notifier // broadcasts when it may have forgotten the commit index, which is on no disk

	mu     sync.Mutex
	term   uint64        // of the leader to which the next fields apply
	match  uint64        // the index up to which its log is known to equal the leader's
	commit uint64        // the index that it knows to be committed; 0 if that is unsure
	agreed clock.Moment  // when the last message was sent that it has agreed to
	heard  time.Duration // when it last answered, on the monotonic clock
	lost   bool          // the last message has failed
}

// maxFollowers bounds the number of followers that are remembered, which may be former members.
const maxFollowers = 1024

// Follower returns the view of a node.
func (t *RaftTransport) Follower(id raft.ServerID) *Follower {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.followers[id]
	if f == nil {
		if t.followers == nil || len(t.followers) >= maxFollowers {
			t.followers = map[raft.ServerID]*Follower{}
		}
		f = &Follower{}
		t.followers[id] = f
	}
	return f
}

// succeeded notes that the follower answered a message of the leader of a term: it has the log up to match, and knows
// that the log is committed up to commit. sent is when the message left if the follower agreed to it, otherwise zero.
func (f *Follower) succeeded(now, sent clock.Moment, term, match, commit uint64) {
	f.mu.Lock()
	if f.term < term {
		f.term, f.match, f.commit, f.agreed = term, 0, 0, clock.Moment{}
	}
	if f.term == term {
		f.match, f.commit, f.heard = max(f.match, match), max(f.commit, commit), time.Duration(now.Mono)
		if sent.Mono > f.agreed.Mono {
			f.agreed = sent
		}
	}
	f.lost = false
	f.mu.Unlock()
	f.reached.Broadcast()
}

func (f *Follower) failed() {
	f.mu.Lock()
	f.lost = true
	f.mu.Unlock()
	f.forget()
}

// forget notes that the follower may have been started again.
func (f *Follower) forget() {
	f.mu.Lock()
	f.commit = 0
	f.mu.Unlock()
	f.unsure.Broadcast()
}

// KnowsAll reports whether the follower knows that all entries before a message are committed. unsure is closed when
// that may have changed.
func (f *Follower) KnowsAll(args *raft.AppendEntriesRequest) (knows bool, unsure <-chan struct{}) {
	unsure = f.unsure.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.term == args.Term && f.match >= args.PrevLogEntry && f.commit >= args.PrevLogEntry && !f.lost, unsure
}

func (f *Follower) isLost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// Reached returns a channel that is closed when the follower next answers a message or makes a connection.
func (f *Follower) Reached() <-chan struct{} { return f.reached.Wait() }

// Progress returns the index up to which the follower has the log of the leader of a term, and whether the leader has
// heard of it since a time.
func (f *Follower) Progress(term uint64, since time.Duration) (match uint64, heard bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.match, f.term == term && f.heard >= since && !f.lost
}

// Heard returns when the follower last answered the leader of a term; 0 if it did not.
func (f *Follower) Heard(term uint64) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term != term {
		return 0
	}
	return f.heard
}

// Agreed returns when the last message was sent to which the follower agreed in a term; zero if there is none.
func (f *Follower) Agreed(term uint64) clock.Moment {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term != term {
		return clock.Moment{}
	}
	return f.agreed
}

// NoteConnected notes that a node has made a connection to this one.
func (t *RaftTransport) NoteConnected(id raft.ServerID) {
	t.mu.Lock()
	f := t.followers[id]
	t.mu.Unlock()
	if f != nil {
		f.forget()
		f.reached.Broadcast()
	}
}

// AppendEntries implements raft.Transport.
func (t *RaftTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	f := t.Follower(id)
	for {
		heardOf := f.reached.Wait()
		*resp = raft.AppendEntriesResponse{}
		sent := t.Now()
		err := t.Messenger.AppendEntries(id, target, args, resp)
		if err == nil {
			commit := args.LeaderCommitIndex
			if !resp.Success {
				sent, commit = clock.Moment{}, 0
			}
			f.succeeded(t.Now(), sent, args.Term, matched(args, resp), commit)
			t.skipBackoff(args, resp)
			return nil
		}
		f.failed()
		if IsHeartbeat(args) || !t.IsDue(id, target, args.Term) {
			return err
		}
		notifier.Pause(t.Ctx, heardOf, t.RetryEvery)
	}
}

// skipBackoff makes Raft try again soon when a follower has refused entries: its disk may have been full, and may
// have room again.
func (t *RaftTransport) skipBackoff(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) {
	if resp.Success || resp.NoRetryBackoff || resp.Term > args.Term || IsHeartbeat(args) {
		return
	}
	notifier.Pause(t.Ctx, nil, t.RetryEvery)
	resp.NoRetryBackoff = true
}

// InstallSnapshot implements raft.Transport. It waits until the follower is reachable: Raft reopens the snapshot for
// each attempt.
func (t *RaftTransport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	f := t.Follower(id)
	for heardOf := f.reached.Wait(); f.isLost() && t.IsDue(id, target, args.Term); heardOf = f.reached.Wait() {
		notifier.Pause(t.Ctx, heardOf, t.RetryEvery)
	}
	err := t.Messenger.InstallSnapshot(id, target, args, resp, data)
	if err != nil {
		f.failed()
		return err
	}
	match := uint64(0)
	if resp.Success {
		match = args.LastLogIndex
	}
	f.succeeded(t.Now(), clock.Moment{}, args.Term, match, 0)
	return nil
}

// IsHeartbeat reports whether a message is one of the heartbeats that Raft sends independently of entries.
func IsHeartbeat(args *raft.AppendEntriesRequest) bool {
	return args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && len(args.Entries) == 0 && args.LeaderCommitIndex == 0
}

// matched returns the index up to which a follower's log equals the leader's by its answer; 0 if the answer does not
// tell.
func matched(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) uint64 {
	switch n := len(args.Entries); {
	case !resp.Success:
		return 0
	case n > 0:
		return args.Entries[n-1].Index
	}
	return args.PrevLogEntry
}
