package rafttransport

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/transport"
)

// maxEntriesBytes bounds the entries of one message, if it has several: Raft sends the others in the next.
const maxEntriesBytes = 4 << 20

// Transport carries the messages of one group. It implements [transport.Messenger].
type Transport struct {
	links     *Links
	group     uint32
	own       raft.ServerID // this node's id in the group
	consumer  chan raft.RPC
	heartbeat atomic.Pointer[func(raft.RPC)]
	inspect   atomic.Pointer[func(*raft.AppendEntriesRequest) error]
	closed    chan struct{}
	close     sync.Once
}

var _ transport.Messenger = (*Transport)(nil)

// Group adds a group, with the id of its member on this node, and returns its transport.
func (l *Links) Group(number uint32, own raft.ServerID) *Transport {
	t := &Transport{links: l, group: number, own: own, consumer: make(chan raft.RPC), closed: make(chan struct{})}
	l.mu.Lock()
	l.groups[number] = t
	l.mu.Unlock()
	return t
}

// Close implements raft.WithClose.
func (t *Transport) Close() error {
	t.close.Do(func() {
		close(t.closed)
		t.links.remove(t)
	})
	return nil
}

// Consumer implements raft.Transport.
func (t *Transport) Consumer() <-chan raft.RPC { return t.consumer }

// LocalAddr implements raft.Transport.
func (t *Transport) LocalAddr() raft.ServerAddress { return raft.ServerAddress(t.links.peers.Address) }

// EncodePeer implements raft.Transport.
func (t *Transport) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

// DecodePeer implements raft.Transport.
func (t *Transport) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler implements raft.Transport.
func (t *Transport) SetHeartbeatHandler(handle func(raft.RPC)) { t.heartbeat.Store(&handle) }

// Inspect implements [transport.Messenger].
func (t *Transport) Inspect(f func(*raft.AppendEntriesRequest) error) { t.inspect.Store(&f) }

// AppendEntriesPipeline implements raft.Transport. There is no pipeline: one message goes to a follower at a time, and
// messages grow instead of queueing. Raft's pipeline gains nothing over that, and a node that ends while its pipeline
// is full never ends.
func (t *Transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries implements raft.Transport. It removes from args the entries that are too many for one message.
func (t *Transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	args.Entries = Fitting(args.Entries, maxEntriesBytes)
	capCommit(args) // for followers of a version that does not
	return t.ask(id, target, kindAppendEntries, args, resp)
}

// maxStreamBytes bounds the entries of a message that shares a connection with other groups, whose messages would wait
// for a longer one.
const maxStreamBytes = 64 << 10

// wayOf returns how a question is carried: for groups of keys by a stream, unless it has many entries. Heartbeats never
// wait for entries before them.
func (t *Transport) wayOf(target raft.ServerAddress, question any) way {
	args, hasEntries := question.(*raft.AppendEntriesRequest)
	hasEntries = hasEntries && len(args.Entries) > 0
	switch {
	case t.group == 0, hasEntries && bytesOf(args.Entries) > maxStreamBytes:
		return way{address: target}
	case hasEntries:
		return way{target, true, transport.EntriesLane}
	}
	return way{target, true, transport.HeartbeatsLane}
}

func bytesOf(entries []*raft.Log) (size int) {
	for _, e := range entries {
		size += len(e.Data) + len(e.Extensions) + minEntryBytes
	}
	return size
}

// Fitting returns as many of the first entries as have at most a number of bytes, but at least one.
func Fitting(entries []*raft.Log, bytes int) []*raft.Log {
	size := 0
	for i := range entries {
		if size += bytesOf(entries[i : i+1]); size > bytes && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

// RequestVote implements raft.Transport.
func (t *Transport) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	return t.ask(id, target, kindRequestVote, args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (t *Transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	return t.ask(id, target, kindPreVote, args, resp)
}

// TimeoutNow implements raft.Transport.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	return t.ask(id, target, kindTimeoutNow, args, resp)
}

// ask sends a question to the node at an address and reads its answer.
func (t *Transport) ask(id raft.ServerID, target raft.ServerAddress, kind byte, question, answer any) error {
	var l *link
	var err error
	to := t.wayOf(target, question)
	if to.inStream {
		l, err = t.links.takeStream(to)
	} else {
		l, err = t.links.take(target)
	}
	if err != nil {
		return err
	}
	refused, err := l.ask(t.links.timeout, t.head(kind, id), question, answer, nil)
	if err != nil {
		_ = l.conn.Close()
		return err
	}
	t.links.put(to, l)
	return refused
}

func (t *Transport) head(kind byte, to raft.ServerID) head {
	return head{kind: kind, group: t.group, to: string(to)}
}

// InstallSnapshot implements raft.Transport. Its connection is not used again.
func (t *Transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	l, err := t.links.take(target)
	if err != nil {
		return err
	}
	defer l.conn.Close()
	within := max(t.links.timeout, t.links.timeout*time.Duration(args.Size/raft.DefaultTimeoutScale))
	refused, err := l.ask(within, t.head(kindSnapshot, id), args, resp, data)
	if err != nil {
		return err
	}
	return refused
}
