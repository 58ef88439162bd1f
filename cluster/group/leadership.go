package group

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
	"github.com/stintdb/stint/cluster/transport"
)

// leadership is one term of this node as leader. It begins once the state contains everything acknowledged before.
type leadership struct {
	term           uint64
	leaseUntil     atomic.Int64 // on the monotonic clock
	leaseUntilWall atomic.Int64 // by the time of day
	// transferring is set while leadership is transferred: new calls wait, and the next leader decides them.
	transferring atomic.Bool
}

// Holds reports whether the lease holds: no other node can lead now.
func (r *leadership) Holds(now clock.Moment) bool {
	return now.Mono < r.leaseUntil.Load() && now.Wall < r.leaseUntilWall.Load()
}

// leaderRole is this node as a leader. It takes up leadership, keeps the lease, and steps down.
type leaderRole struct {
	opt       *Config
	raft      *raftnode.Node
	peers     *transport.Peers
	clock     *clock.Clock
	fsm       *fsm.Machine
	statuses  Statuses
	leader    *leaderFinder
	formats   *versionGate
	proposer  *propose.Proposer
	allowance *allowance.Allowance
	metrics   *metrics
	log       *oncelog.Log

	current atomic.Pointer[leadership] // while this node leads
	// A node to which leadership was offered may be elected before the timeout of the others is over. So the lease is not
	// renewed while an offer is open, which Raft may carry out only when this node leads the next time, nor before
	// leaseBarredUntil on the monotonic clock.
	offers           atomic.Int64
	leaseBarredUntil atomic.Int64

	stop          atomic.Pointer[context.CancelFunc] // of the context of look
	term          uint64                             // the term that look has begun, 0 for none
	due           time.Duration                      // when look renews the lease again, on the monotonic clock
	entriesAtTick int64                              // of proposeTick
}

// The lease lasts half of the time that followers wait, at least, before they elect another leader. It is counted from
// before the followers were asked, and renewed at least three times within its duration. The other half is a margin:
// for clocks that run at different speeds, and half of it for answers that come late.
func (l *leaderRole) leaseDuration() time.Duration { return l.opt.Heartbeat / 2 }
func (l *leaderRole) leaseRenewal() time.Duration  { return l.opt.Heartbeat / raftnode.BeatsOfTimeout }

// noteChange ends what look waits for, if this node no longer leads. Raft calls it when it changes its state.
func (l *leaderRole) noteChange() {
	if stop := l.stop.Load(); stop != nil && l.raft.State() != raft.Leader {
		(*stop)()
	}
}

// look begins this node's leadership of a term when Raft leads, renews the lease, and ends the leadership when Raft no
// longer leads.
func (l *leaderRole) look(ctx context.Context) (pause time.Duration) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.stop.Store(&stop)
	leads, term := l.raft.State() == raft.Leader, l.raft.CurrentTerm()
	if l.term != 0 {
		l.raft.NoteWake(l.due)
	}
	if l.term != 0 && (!leads || term != l.term) {
		l.term = 0
		l.stepDown()
	}
	if !leads {
		return clock.Never
	}
	if l.term == 0 && l.begin(ctx, term) {
		l.term = term
	}
	if l.term != 0 {
		l.renewLease(ctx, term)
	}
	pause = clock.UntilNext(l.leaseRenewal())
	l.due = l.clock.Mono() + pause
	return pause
}

// stepDown ends this node's leadership.
func (l *leaderRole) stepDown() {
	if r := l.current.Swap(nil); r != nil {
		r.leaseUntil.Store(0)
		l.clock.Follow()
		l.leader.note(l.opt.Advertise)
		l.proposer.Resume() // a transfer need not have ended
		l.raft.LogLoss(r.term, r.transferring.Load())
	}
	l.leader.changed.Broadcast()
}

// begin waits until the state contains everything that was committed in earlier terms, and takes up leadership.
func (l *leaderRole) begin(ctx context.Context, term uint64) bool {
	err := l.raft.Await(ctx, func() error { return l.raft.Barrier(0).Error() })
	if err != nil || l.raft.CurrentTerm() != term || l.peers.IsIsolated() {
		return false
	}
	if !l.clock.IsConfirmed() {
		l.syncClock(ctx)
		l.clock.Confirm()
	}
	if err := l.formCluster(ctx); err != nil {
		l.log.Once("form "+err.Error(), "this node leads, and could not form the cluster yet", "error", err)
		return false
	}
	l.metrics.leaderChanges.Add(1)
	l.allowance.Begin(l.proposer, l.opt.Allowance(), l.fsm.Cluster.Load().Allowance)
	l.opt.Turns.Begin(max(l.clock.NowOrWall(), l.fsm.Now.Load()))
	r := &leadership{term: term}
	l.current.Store(r)
	if l.peers.IsIsolated() || ctx.Err() != nil {
		l.stepDown()
		return false
	}
	l.log.Info("leader", "term", term)
	// Raft's no-op of this term is not applied. This entry shows that it is committed.
	l.proposer.AddOther(fsm.KindTick, nil)
	l.leader.changed.Broadcast()
	return true
}

// proposeTick writes the time into the log when a leader writes nothing else and there are limiters that may expire.
// Every node then drops expired limiters, and knows the time in case it becomes leader.
func (l *leaderRole) proposeTick(context.Context) {
	entries := l.fsm.Entries.Load()
	if l.active() != nil && entries == l.entriesAtTick && l.opt.Store.Len() > 0 {
		l.proposer.AddOther(fsm.KindTick, nil)
	}
	l.entriesAtTick = entries
}

const tickEvery = time.Second

// formCluster gives a new cluster its id, and the groups of keys their founders, which are the members at this moment.
func (l *leaderRole) formCluster(ctx context.Context) error {
	if l.fsm.Cluster.Load().ClusterID == "" {
		first := fsm.BootstrapBody{ClusterID: strings.ToLower(rand.Text()[:16]), Formats: l.formats.first()}
		if l.opt.ImportName != nil {
			first.ImportName = l.opt.ImportName()
		}
		if l.opt.Groups > 1 {
			first.Groups = l.opt.Groups
		}
		if option, needs := l.needs(&first); first.Formats < needs {
			return fmt.Errorf("--%s needs format version %d, which not every node knows: upgrade them first", option, needs)
		}
		if err := l.formats.propose(ctx, fsm.KindBootstrap, first); err != nil {
			return err
		}
	}
	known := l.fsm.Cluster.Load()
	if known.Groups < 2 || len(known.Founders) > 0 {
		return nil
	}
	var founders fsm.GroupsBody
	var nodes []raft.ServerID
	for _, s := range l.raft.Servers() {
		founders.Founders = append(founders.Founders, fsm.Founder{ID: s.ID, Address: string(s.Address)})
		nodes = append(nodes, s.ID)
	}
	if l.opt.Replicas > 0 && known.Placement == nil {
		if len(nodes) < l.opt.Replicas {
			return fmt.Errorf("--cluster-replicas is %d, and %d nodes form the cluster", l.opt.Replicas, len(nodes))
		}
		if err := l.formats.propose(ctx, fsm.KindPlacement, known.FirstPlacement(nodes, l.opt.Replicas)); err != nil {
			return err
		}
	}
	return l.formats.propose(ctx, fsm.KindGroups, founders)
}

// needs returns the setting of a new cluster that needs the newest format version, and that version.
func (l *leaderRole) needs(first *fsm.BootstrapBody) (option string, version fsm.FormatVersion) {
	switch {
	case first.Groups > 0 && l.opt.Replicas > 0:
		return "cluster-replicas", l.formats.OfKind(fsm.KindPlacement)
	case first.ImportName != "" && first.Groups == 0:
		return "cluster-import", fsm.ImportOfOneGroup
	case first.Groups > 0:
		return "groups", l.formats.OfKind(fsm.KindGroups)
	}
	return "", 0
}

// active returns this node's leadership, or nil if it has none or is transferring it.
func (l *leaderRole) active() *leadership {
	if r := l.current.Load(); r != nil && !r.transferring.Load() {
		return r
	}
	return nil
}

// activeTerm is the term of this node's leadership, 0 if [leaderRole.active] is nil.
func (l *leaderRole) activeTerm() uint64 {
	if r := l.active(); r != nil {
		return r.term
	}
	return 0
}

// awaitActive returns this node's leadership, or nil on a node that does not lead. While leadership is being taken up
// or transferred, it waits for up to one heartbeat timeout, so that callers need not try again.
func (l *leaderRole) awaitActive() *leadership {
	for until := l.clock.Mono() + l.opt.Heartbeat; ; {
		moved := l.leader.changed.Wait()
		r, left := l.active(), until-l.clock.Mono()
		if r != nil || left <= 0 || l.raft.State() != raft.Leader || l.peers.IsIsolated() || l.raft.Ctx.Err() != nil {
			return r
		}
		notifier.Pause(l.raft.Ctx, moved, left)
	}
}

// renewLease asks a majority whether this node still leads, and extends the lease from the time before it asked.
func (l *leaderRole) renewLease(ctx context.Context, term uint64) {
	var asked clock.Moment
	if err := l.raft.Await(ctx, func() (err error) { asked, err = l.raft.Verify(term); return err }); err != nil {
		return
	}
	if r := l.current.Load(); r != nil && r.term == term && l.raft.CurrentTerm() == term {
		r.leaseUntilWall.Store(asked.Wall + int64(l.leaseDuration()))
		r.leaseUntil.Store(asked.Mono + int64(l.leaseDuration()))
		if l.offers.Load() > 0 || l.leaseBarredUntil.Load() > asked.Mono { // read last: it may just have been set
			r.leaseUntil.Store(0)
		}
	}
}

// syncClock lowers this node's clock to the earliest time that a reachable member reports. It is called when the clock
// was only restored from disk: this node's own clock may have been set while it was down. If no member answers, the
// time for which this node was down does not count.
func (l *leaderRole) syncClock(ctx context.Context) {
	applied := l.fsm.Now.Load()
	if applied == 0 || len(l.raft.Servers()) == 1 {
		return
	}
	heard, members := false, l.raft.Servers()
	for _, told := range l.statuses.FetchAll(ctx, 300*time.Millisecond) {
		if told.Now > 0 && slices.ContainsFunc(members, func(s raft.Server) bool { return s.ID == told.ID }) {
			l.clock.CapAt(max(told.Now, applied))
			heard = true
		}
	}
	if !heard {
		l.clock.CapAt(applied)
	}
}
