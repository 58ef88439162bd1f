package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/forward"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group/loans"
	"github.com/stintdb/stint/cluster/notifier"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/purses"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/transcripttest"
)

// player is the two nodes a and b without Raft: the transcript says which of them leads, whether the lease holds, and
// when entries are committed. It runs in a bubble, whose time is the test's.
type player struct {
	t       *testing.T
	log     fakeLog
	nodes   map[string]*node
	leader  atomic.Value // the name of a node, "" for none
	looks   atomic.Int64 // at the lease, after which it has ended; below 0 it lasts
	imports atomic.Bool  // the cluster awaits an import
	changed notifier.Notifier
	counts  map[string]int64
	batches map[string]*batch // of sessions, which wait for their answers
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// node is a node with its clients.
type node struct {
	*Decider
	name      string
	play      *player
	holder    *loans.Holder
	proposer  *propose.Proposer
	forwarder *forward.Client
	server    *forward.Server
}

// Holds implements Lease.
func (n *node) Holds(clock.Moment) bool {
	looks := n.play.looks.Load()
	return looks < 0 || looks > 0 && n.play.looks.CompareAndSwap(looks, looks-1)
}

// batch is a session's batch until it is answered.
type batch struct {
	*engine.Batch
	done atomic.Bool
}

func newPlayer(t *testing.T) *player {
	ctx, stop := context.WithCancel(t.Context())
	p := &player{t: t, nodes: map[string]*node{}, counts: map[string]int64{}, batches: map[string]*batch{}, stop: stop}
	p.leader.Store("")
	for _, name := range []string{"a", "b"} {
		p.nodes[name] = p.start(ctx, name)
	}
	p.count()
	return p
}

func (p *player) start(ctx context.Context, name string) *node {
	n := &node{name: name, play: p}
	c := clock.New(time.Now)
	c.Leads = func() bool { return p.leads(name) }
	state := store.New(store.Config{Shards: 1, Replicated: true})
	n.forwarder = forward.NewClient()
	n.proposer = propose.New(propose.Config{
		Apply: func(b []byte) raft.ApplyFuture { return p.log.propose(b, p.leads(name)) },
		Stamp: c.Stamp, Requeue: n.forwarder.Requeue, Weigh: state.Weigh,
		CountFailure: func(engine.Status) {}, LateAfter: time.Minute, Outstanding: &p.ended,
	})
	machine := fsm.New(fsm.Config{
		Store: state, Clock: c, TakeCalls: n.proposer.TakeCalls, OwnID: n.proposer.ID, Knows: 2,
		Fail: func(err error) { p.t.Error(err) },
		OnCluster: func(_, now *fsm.Cluster) {
			n.holder.NoteCluster(now)
			n.NoteCluster()
		},
	})
	n.holder = loans.New(loans.Config{
		ID: raft.ServerID(name), Process: "of-" + name, Timeout: time.Second, Store: state, Clock: c, Machine: machine,
		Decide: func(b *engine.Batch) bool { return n.Decide(b) }, Serve: func(s purses.Served) { n.Serve(s) },
	})
	leads := func() Lease {
		if !p.leads(name) {
			return nil
		}
		return n
	}
	n.Decider = New(Config{
		Store: state, Clock: c, Timeout: time.Second, Machine: machine, IsTooNew: n.isTooNew,
		AwaitsImport: p.imports.Load, Turns: noTurns{},
		Leads: leads, AwaitLead: leads, HearsLeader: func() bool { return !p.leads("") },
		Allowance: allowance.New(state, machine.Now.Load, func() int64 { return max(c.NowOrWall(), machine.Now.Load()) }),
		Purse:     n.holder, Refuses: n.proposer.Refuses, Forward: n.forwarder.Add, CountFailure: func(engine.Status) {},
		Queue: func(c *call.Call, b *engine.Batch, which []uint32) engine.Status {
			return n.Allowance.Queue(n.proposer, c, b, which)
		},
	})
	n.connect(ctx)
	n.proposer.Start()
	n.Start(ctx, &p.ended)
	clock.Repeat(ctx, &p.ended, n.holder.Tend)
	p.ended.Go(func() { n.forwarder.Run(ctx) })
	return n
}

// connect connects the node's ends of what is forwarded.
func (n *node) connect(ctx context.Context) {
	p, f := n.play, n.forwarder
	n.server = &forward.Server{
		Ctx: ctx, Decide: n.DecideForwarded, Now: n.Clock.Now, Refused: func(_ net.Addr, err error) { p.t.Error(err) },
	}
	f.LeaderChanged, f.ObserveTime, f.Grace = &p.changed, func(int64) {}, 10*time.Millisecond
	f.Leads = func() bool { return p.leads(n.name) }
	f.Leader = func() string {
		if p.leads(n.name) {
			return ""
		}
		return p.leader.Load().(string)
	}
	f.Dial = func(_ context.Context, name string) (net.Conn, error) {
		near, far := net.Pipe()
		p.ended.Go(func() { p.nodes[name].server.Serve(far) })
		return near, nil
	}
	f.Fail = func(c *call.Call, status engine.Status) { c.Fail(status) }
	f.Decide = func(c *call.Call) bool {
		if !p.leads(n.name) {
			return false
		}
		if status := n.Allowance.Requeue(n.proposer, c); status != engine.OK {
			c.Fail(status)
		}
		return true
	}
}

// isTooNew says that requests for keys that begin with "new" came with format version 2.
func (n *node) isTooNew(ops []engine.Op) bool {
	isNew := func(op engine.Op) bool { return strings.HasPrefix(string(op.Key), "new") }
	return n.Machine.Cluster.Load().Version() < 2 && slices.ContainsFunc(ops, isNew)
}

// Do carries out a command of a session, or without one a change of the cluster.
func (p *player) Do(session string, words [][]byte, _ string) (got string, err error) {
	if session != "" {
		return p.decide(session, words)
	}
	text := make([]string, len(words), len(words)+2)
	for i := range words {
		text[i] = string(words[i])
	}
	switch text = append(text, "", ""); text[0] {
	case "form":
		return p.form(text[1])
	case "elect":
		p.elect(text[1], raft.ErrNotLeader)
	case "lose":
		p.elect("", raft.ErrLeadershipLost)
	case "lease":
		p.looks.Store(map[string]int64{"lasts": -1, "ended": 0, "ends": 1}[text[1]])
		return "", nil
	case "allowance":
		n := p.nodes[p.leader.Load().(string)]
		n.Allowance.StartTerm(false)
		n.Allowance.Term.Load().IsOpen.Store(true)
		return "", nil
	case "warm":
		return p.warm(text[1], text[2])
	case "import":
		p.imports.Store(text[1] == "awaited")
		return "", nil
	case "commit":
		return p.commit(), nil
	default:
		return "", fmt.Errorf("an unknown command")
	}
	return p.count(), nil
}

func (p *player) leads(name string) bool { return p.leader.Load() == name }

// form has the cluster begin with a format version. Both nodes know it at once.
func (p *player) form(version string) (string, error) {
	v, err := strconv.Atoi(version)
	p.apply(fsm.KindBootstrap, fsm.BootstrapBody{ClusterID: "c", Formats: fsm.FormatVersion(v)})
	for name := range p.nodes {
		p.apply(fsm.KindMember, fsm.MemberBody{ID: raft.ServerID(name), Member: &fsm.Member{Node: name, Formats: 2}})
		p.apply(fsm.KindProcess, fsm.ProcessBody{ID: raft.ServerID(name), Process: "of-" + name})
	}
	synctest.Wait()
	return p.count(), err
}

func (p *player) apply(kind byte, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	entry := append(make([]byte, fsm.EntryHead), text...)
	fsm.StampEntry(entry, kind, time.Now().UnixNano(), 0, 0)
	p.log.apply(p.nodes, entry)
}

// elect changes the leader. What the one before has proposed, and is not committed, ends with an error.
func (p *player) elect(name string, proposed error) {
	if p.nodes[name] == nil {
		name = ""
	}
	p.leader.Store(name)
	p.looks.Store(-1)
	p.log.fail(proposed)
	if n := p.nodes[name]; n != nil {
		n.Allowance.Begin(n.proposer, false, false)
	}
	p.changed.Broadcast()
	time.Sleep(50 * time.Millisecond) // the connections to the one before end
	synctest.Wait()
}

// warm asks a node so often for tokens of a key that it holds some.
func (p *player) warm(name, key string) (string, error) {
	n := p.nodes[name]
	n.holder.Table.SetAhead(time.Second)
	time.Sleep(time.Second) // the node finds that it is up to date
	for range 20 {
		if _, err := p.decide(name, [][]byte{[]byte("acquire"), []byte(key), []byte("1")}); err != nil {
			return "", err
		}
		p.commit()
		delete(p.batches, name)
	}
	p.count()
	return fmt.Sprintf("%s holds %d", name, n.holder.Table.Held()), nil
}

// commit commits all entries.
func (p *player) commit() string {
	before := p.nodes["a"].Machine.Decisions.Load()
	for synctest.Wait(); p.log.commit(p.nodes); synctest.Wait() {
	}
	text := fmt.Sprintf("committed: %d", p.nodes["a"].Machine.Decisions.Load()-before)
	if by := p.count(); by != "" {
		text += " " + by
	}
	return text
}

// decide has a node decide a session's batch.
func (p *player) decide(session string, words [][]byte) (string, error) {
	b := &batch{Batch: &engine.Batch{}}
	for len(words) > 0 {
		n := slices.IndexFunc(words, func(w []byte) bool { return string(w) == "," })
		if n < 0 {
			n = len(words)
		}
		if err := b.read(words[:n]); err != nil {
			return "", err
		}
		words = words[min(n+1, len(words)):]
	}
	b.Results = make([]engine.Result, len(b.Ops))
	b.Done = func() { b.done.Store(true) }
	if p.batches[session] != nil {
		return "", errors.New("the session waits for an answer")
	}
	p.batches[session] = b
	if p.nodes[session[:1]].Decide(b.Batch) {
		b.done.Store(true)
	}
	for i := range b.Ops { // their memory is used again
		for j := range b.Ops[i].Key {
			b.Ops[i].Key[j] = '#'
		}
	}
	return p.Next(session)
}

// Next returns the answer of a session's batch.
func (p *player) Next(session string) (string, error) {
	synctest.Wait()
	text, b := transcripttest.Held, p.batches[session]
	switch {
	case b == nil:
		return transcripttest.None, nil
	case b.done.Load():
		delete(p.batches, session)
		text = b.answers()
	}
	if by := p.count(); by != "" {
		text += " " + by
	}
	return text, nil
}

// count says what the counters have counted since the last time: who has answered how many operations, and which calls
// were forwarded.
func (p *player) count() string {
	var by []string
	for _, name := range []string{"a", "b"} {
		n := p.nodes[name]
		for _, c := range []struct {
			what string
			n    int64
		}{
			{"allowance", n.ByAllowance.Load()}, {"purse", n.holder.Table.Decisions.Load()},
			{"state", n.ReadOnly.Load()}, {"calls forwarded", n.forwarder.Forwarded.Load()},
		} {
			of := name + "'s " + c.what
			if more := c.n - p.counts[of]; more > 0 {
				by = append(by, fmt.Sprintf("%s %d", of, more))
			}
			p.counts[of] = c.n
		}
	}
	if by == nil {
		return ""
	}
	return "(" + strings.Join(by, ", ") + ")"
}

// HangUp implements transcripttest.Player. Sessions do not end.
func (p *player) HangUp(string) error { return errors.New("sessions do not end") }

// Advance has time pass.
func (p *player) Advance(d time.Duration) { time.Sleep(d) }

// Close ends both nodes.
func (p *player) Close() error {
	p.leader.Store("")
	p.stop()
	p.log.fail(raft.ErrRaftShutdown)
	for _, n := range p.nodes {
		n.proposer.Halt()
	}
	p.ended.Wait()
	for _, n := range p.nodes {
		n.proposer.Ended.Wait()
		n.Close()
		n.Store.Close()
	}
	for session, b := range p.batches {
		if !b.done.Load() {
			return fmt.Errorf("the batch of %s was never answered", session)
		}
	}
	return nil
}
