package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

// Options are what a node is made with.
type Options struct {
	Node            string   // its name, the same at every start; no other node has it
	Listen          string   // where it takes connections from other nodes
	Advertise       string   // how they reach it; one of Peers
	Peers           []string // where the nodes are to be found that form the cluster
	BootstrapExpect int      // form a cluster once so many nodes have met; 0 only joins one
	Client          string   // where clients reach this node, for others to tell them

	Store *engine.Store // empty
	Disk  Disk
	Log   *slog.Logger

	Heartbeat     time.Duration // followers elect another leader when they have not heard of it for this long, at least
	DecideTimeout time.Duration // no call takes longer
	DiskTimeout   time.Duration // a leader whose log takes longer for one write gives up
	LogBytes      int64         // of the log before a snapshot takes its place
	MeetEvery     time.Duration // how often nodes ask each other how they are; 0 for a second

	Network Network          // nil for TCP without TLS
	Wall    func() time.Time // this node's own clock; nil for the system's

	// SinceBoot is how long the machine has been up, and a name of this boot; nil for the system's.
	SinceBoot func() (boot string, up time.Duration)
}

// Node is one node of a cluster. Open makes one, Close ends it.
type Node struct {
	opt   Options
	id    raft.ServerID
	log   *slog.Logger
	seed  maphash.Seed
	disk  Disk
	clock *clock

	fsm       *fsm
	raft      *raft.Raft
	transport *raft.NetworkTransport
	logs      *watchedLog
	peers     *peers
	proposer  *proposer
	forwarder *forwarder
	waits     waitlist
	counts    *counts

	reign atomic.Pointer[reign] // while this node leads
	// After leadership was offered to another node, that one may be elected before the others' time is out. So while an
	// offer is open, which Raft may only carry out when this node leads the next time, and until barred on the monotonic
	// clock, the lease is not renewed.
	offers atomic.Int64
	barred atomic.Int64

	links    atomic.Int64  // connections over which other nodes forward calls
	changing chan struct{} // holds one token while members are being changed
	tuning   sync.Mutex    // while Raft's settings are being changed

	remembered string                 // the cluster's id as it was kept at the last run
	kept       string                 // and at this one; this and the next belong to keepCompany
	clockKept  int64                  // the fsm's time when the clock was kept last
	lastLeader atomic.Pointer[string] // where the last leader known was

	lastSnapshot atomic.Uint64 // index of the log

	mu      sync.Mutex
	reports map[raft.ServerID]report // the last of each other node
	said    map[string]time.Duration // when logOnce said what
	ending  bool                     // Raft is not asked anything any more

	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
	asked  sync.WaitGroup // questions that Raft has not answered
	failed chan error
}

// raftTimeout bounds one message of Raft's.
const raftTimeout = 2 * time.Second

// Open starts a node: it reads its log, and looks for the others in the background.
func Open(o Options) (*Node, error) {
	if o.MeetEvery == 0 {
		o.MeetEvery = time.Second
	}
	if o.Network == nil {
		o.Network = TCP{}
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.SinceBoot == nil {
		o.SinceBoot = sinceBoot
	}
	if !slices.Contains(o.Peers, o.Advertise) {
		return nil, fmt.Errorf("--cluster-peers does not contain this node's own address, %s: give every node the same list of all of them", o.Advertise)
	}
	id, err := o.Disk.Identity(o.Node)
	if err != nil {
		return nil, err
	}
	n := &Node{
		opt: o, id: id, disk: o.Disk, log: o.Log.With("node", o.Node), seed: maphash.MakeSeed(), clock: newClock(o.Wall), counts: newCounts(),
		reports: map[raft.ServerID]report{}, said: map[string]time.Duration{}, failed: make(chan error, 1), changing: make(chan struct{}, 1), forwarder: newForwarder(),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if text, err := o.Disk.Stable().Get(rememberedKey); err == nil { // an error is all it says when there is none
		n.remembered = string(text)
	}
	n.recallClock()
	n.connectParts()
	if err := n.peers.listen(o.Listen); err != nil {
		return nil, err
	}
	if err := n.startRaft(); err != nil {
		n.peers.halt()
		return nil, err
	}
	for _, run := range []func(context.Context){n.followLeadership, n.keepCompany, n.promote, n.watchDisk, n.trimLog, n.endLate, n.passTime, n.suspect, n.forwarder.run} {
		n.ended.Go(func() { run(n.ctx) })
	}
	n.proposer.ended.Go(n.proposer.run)
	n.peers.ended.Go(n.peers.run)
	return n, nil
}

// connectParts makes what calls each other.
func (n *Node) connectParts() {
	n.peers = &peers{
		network: n.opt.Network, address: n.opt.Advertise, log: n.log, hello: n.greeting, known: n.idAt,
		leads: func() bool { return n.raft.State() == raft.Leader },
		serve: map[byte]func(net.Conn){forCalls: n.serveCalls, forControl: n.serveControl},
	}
	n.proposer = newProposer(func(b []byte) raft.ApplyFuture { return n.raft.Apply(b, 0) }, n.clock.stamp, n.forwarder.back, &n.asked)
	n.proposer.counts = n.counts
	n.fsm = &fsm{store: n.opt.Store, clock: n.clock, own: n.proposer.take, ownID: n.proposer.id, log: n.log, fail: n.fail, counts: n.counts}
	n.fsm.known.Store(&register{Members: map[raft.ServerID]member{}})
	n.logs = &watchedLog{LogStore: n.disk.Logs(), mono: n.clock.mono}
	n.forwarder.peers, n.forwarder.clock, n.forwarder.counts, n.forwarder.grace = n.peers, n.clock, n.counts, n.opt.Heartbeat/2
	n.forwarder.leader = func() string {
		if n.reign.Load() != nil {
			return ""
		}
		return n.leaderAddress()
	}
	n.forwarder.decide = func(c *call) bool {
		if n.deciding() == nil {
			return false
		}
		if !n.proposer.add(c) {
			n.counts.failed(c.fail(engine.Overloaded))
		}
		return true
	}
}

func (n *Node) startRaft() error {
	logger := newRaftLogger(n.log)
	config := raft.DefaultConfig()
	config.LocalID = n.id
	config.Logger = logger
	config.HeartbeatTimeout, config.ElectionTimeout = n.opt.Heartbeat, n.opt.Heartbeat
	// How long a leader that reaches no majority goes on trying: no shorter than others wait before they elect another, or
	// a moment without processor time would cost an election. It decides nothing meanwhile, as nothing is committed, and
	// answers nothing without its lease, which is ours and not this.
	config.LeaderLeaseTimeout = n.opt.Heartbeat * 9 / 10
	config.CommitTimeout = n.opt.Heartbeat / 6
	config.SnapshotThreshold = math.MaxUint64 >> 1 // trimLog counts bytes instead
	config.SnapshotInterval = time.Hour
	config.TrailingLogs = minTrailing
	config.NoLegacyTelemetry = true
	stream := raftStream{n.peers}
	// One message to a follower at a time: entries grow instead of queueing. Raft's pipeline brings nothing beside that, and
	// a node that ends while its pipeline is full never does.
	n.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: raftTimeout, Logger: logger, MsgpackUseNewTimeFormat: true,
	})
	cache, err := raft.NewLogCache(64, n.logs)
	if err != nil {
		return err
	}
	n.raft, err = raft.NewRaft(config, n.fsm, cache, n.disk.Stable(), n.disk.Snapshots(), n.transport)
	if err != nil {
		return errors.Join(fmt.Errorf("the cluster's log: %w", err), n.transport.Close())
	}
	n.raft.RegisterObserver(raft.NewObserver(nil, false, n.leaderMoved))
	return nil
}

// leaderMoved is a filter of Raft's observations, which is called at once and takes no time: nothing is to be delivered.
func (n *Node) leaderMoved(o *raft.Observation) bool {
	switch o.Data.(type) {
	case raft.LeaderObservation, raft.RaftState:
		n.forwarder.moved.ring()
	}
	return false
}

// fail is called when this node cannot carry out the log any further.
func (n *Node) fail(err error) {
	n.log.Error("this node cannot go on", "error", err)
	select {
	case n.failed <- err:
	default:
	}
}

// Failed delivers the reason when this node cannot go on and has to be ended.
func (n *Node) Failed() <-chan error { return n.failed }

// Now is the cluster's time as far as this node knows it, in nanoseconds since the Unix epoch; before it knows any, its own
// clock's.
func (n *Node) Now() int64 {
	if now := n.clock.now(); now > 0 {
		return now
	}
	return n.opt.Wall().UnixNano()
}

// Sweep is [engine.Store.Sweep] at the time of the last entry applied: what is as good as new then is so for every entry to
// come. What this node's own clock says does not count, as a leader's may be behind it.
func (n *Node) Sweep(_ int64, count int) (looked, dropped int) {
	return n.opt.Store.Sweep(n.fsm.now.Load(), count)
}

// greeting is what this node says of itself on a connection.
func (n *Node) greeting(to raft.ServerID) greeting {
	return greeting{From: n.id, To: to, Cluster: n.clusterID()}
}

// endLate ends calls that have taken too long.
func (n *Node) endLate(ctx context.Context) {
	every(ctx, n.opt.DecideTimeout/50, func() {
		for _, c := range n.waits.overdue(n.clock.mono() - n.opt.DecideTimeout) {
			n.counts.failed(c.fail(engine.NoLeader))
		}
	})
}

// passTime has a leader write the time into the log when nothing else is being written and there are limiters that wait
// for it: every node then drops those that are as good as new, and knows the time should it come to lead.
func (n *Node) passTime(ctx context.Context) {
	last := int64(0)
	every(ctx, tickEvery, func() {
		entries := n.counts.entries.Load()
		if n.deciding() != nil && entries == last && n.opt.Store.Len() > 0 {
			n.proposer.addOther(kindTick, nil)
		}
		last = entries
	})
}

const tickEvery = time.Second

// Close ends the node. HandOver before it spares clients the wait for an election.
func (n *Node) Close() error {
	n.reign.Store(nil)
	n.cancel()
	n.proposer.halt()
	n.letAnswer()
	err := n.raft.Shutdown().Error()
	n.peers.halt()
	err = errors.Join(err, n.transport.Close())
	n.ended.Wait()
	n.proposer.ended.Wait()
	for _, c := range n.waits.close() {
		n.counts.failed(c.fail(engine.NoLeader))
	}
	return errors.Join(err, n.disk.Close())
}

// letAnswer gives Raft a moment to answer what it was asked: once it is shut down, it leaves some questions open for ever.
func (n *Node) letAnswer() {
	n.mu.Lock()
	n.ending = true
	n.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		n.proposer.ended.Wait() // it asks no more then
		n.asked.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(time.Second):
	}
}

// logOnce logs what would otherwise be repeated all the time, once a minute.
func (n *Node) logOnce(what, message string, fields ...any) {
	n.mu.Lock()
	last, said := n.said[what]
	now := n.clock.mono()
	again := !said || now-last > time.Minute
	if again {
		if len(n.said) > maxSaid {
			clear(n.said)
		}
		n.said[what] = now
	}
	n.mu.Unlock()
	if again {
		n.log.Info(message, fields...)
	}
}

const maxSaid = 256
