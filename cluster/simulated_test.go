package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/keygroups"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/testnet"
	"github.com/stintdb/stint/internal/testspec"
	"github.com/stintdb/stint/server/command/data"
)

// memDisk is a Disk in memory, which can be slow, hang, or lose power. It outlives the nodes that use it.
type memDisk struct {
	*raft.InmemStore
	snapshots memSnapshots
	node      string
	run       int // the number of wipes: a wiped disk is another incarnation
	clock     raftstore.SavedClock

	groups map[int]*memDisk // the directories of the groups of keys
	of     *memDisk         // the disk of which this is a group's directory

	mu      sync.Mutex
	delay   time.Duration
	hanging chan struct{} // closed when the disk no longer hangs; nil if it does not hang
	isOff   bool
	losses  int // the number of losses of power
}

func newMemDisk(run int) *memDisk {
	return &memDisk{InmemStore: raft.NewInmemStore(), run: run}
}

func (d *memDisk) Logs() raft.LogStore           { return d }
func (d *memDisk) Stable() raft.StableStore      { return d }
func (d *memDisk) Snapshots() raft.SnapshotStore { return &d.snapshots }
func (d *memDisk) Close() error                  { return nil }
func (d *memDisk) Remove() error {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	maps.DeleteFunc(d.of.groups, func(_ int, g *memDisk) bool { return g == d })
	return nil
}
func (d *memDisk) Incarnation(node string) (string, error) {
	if d.node == "" {
		d.node = node
	}
	if d.node != node {
		return "", errors.New("another node's disk")
	}
	return fmt.Sprint(d.run), nil
}
func (d *memDisk) SaveClock(c raftstore.SavedClock) error   { d.clock = c; return nil }
func (d *memDisk) LoadClock() (raftstore.SavedClock, error) { return d.clock, nil }

func (d *memDisk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }
func (d *memDisk) StoreLogs(logs []*raft.Log) error {
	d.mu.Lock()
	delay, hanging, losses := d.delay, d.hanging, d.losses
	d.mu.Unlock()
	if hanging != nil {
		<-hanging
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.isOff && losses < d.losses: // torn
		_ = d.InmemStore.StoreLogs(logs[:len(logs)/2])
		return errDisk
	case d.isOff || losses < d.losses:
		return errDisk
	}
	return d.InmemStore.StoreLogs(logs)
}

func (d *memDisk) Set(key, value []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOff {
		return errDisk
	}
	return d.InmemStore.Set(key, value)
}

func (d *memDisk) SetUint64(key []byte, value uint64) error {
	d.mu.Lock()
	delay, losses := d.delay, d.losses
	d.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOff || losses < d.losses {
		return errDisk
	}
	return d.InmemStore.SetUint64(key, value)
}

// openGroup opens the directory of a group of keys.
func (d *memDisk) openGroup(number int, isNew bool) (keygroups.Disk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.groups[number] == nil {
		if !isNew {
			return nil, errors.New("the directory is missing")
		}
		if d.groups == nil {
			d.groups = map[int]*memDisk{}
		}
		d.groups[number] = newMemDisk(d.run)
		d.groups[number].of, d.groups[number].delay, d.groups[number].isOff = d, d.delay, d.isOff
	}
	return d.groups[number], nil
}

// groupCount is the number of directories of groups of keys.
func (d *memDisk) groupCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.groups)
}

// clearGroup removes the directory of a group of keys.
func (d *memDisk) clearGroup(number int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.groups, number)
	return nil
}

// parts returns the directories of the groups of keys, which are on the same disk.
func (d *memDisk) parts() []*memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.groups))
}

// losePower makes the disk lose its unfinished writes, and take nothing more until the returned function is called.
func (d *memDisk) losePower() (restore func()) {
	var restores []func()
	for _, part := range d.parts() {
		restores = append(restores, part.losePower())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isOff = true
	d.losses++
	d.release()
	return func() {
		for _, restore := range restores {
			restore()
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.isOff = false
	}
}

// release ends hanging. The caller holds mu.
func (d *memDisk) release() {
	if d.hanging != nil {
		close(d.hanging)
		d.hanging = nil
	}
}

func (d *memDisk) SetDelay(delay time.Duration) {
	for _, part := range d.parts() {
		part.SetDelay(delay)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

// hang makes every write from now on wait until the returned function is called.
func (d *memDisk) hang() (release func()) {
	var releases []func()
	for _, part := range d.parts() {
		releases = append(releases, part.hang())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	hanging := make(chan struct{})
	d.hanging = hanging
	return func() {
		for _, release := range releases {
			release()
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.hanging == hanging {
			d.release()
		}
	}
}

// simulated is a cluster in memory, inside a synctest bubble.
type simulated struct {
	t           *testing.T
	net         *testnet.Net
	names       []string
	expect      int // the number of nodes that form the cluster; 0 for all
	groups      int // of keys
	replicas    int // of each; 0 for one on every node
	shared      []string
	imports     map[string]string // that nodes bring to it
	ending      func(n *Node)     // called before a node ends; nil for nothing
	onImport    func(number int)  // see Options
	nodes       map[string]*Node
	everStarted []*Node
	suspended   atomic.Int64 // nanoseconds for which all machines were suspended
	sharing     atomic.Bool  // leaders take tokens in their memory
	watched     atomic.Bool  // somebody looks at every page
	disks       map[string]*memDisk
	known       map[string][]fsm.Addition // the additions that a node knows; nil for those of this build
	log         *slog.Logger
	ahead       time.Duration
	warnings    func() (warned func(w *engine.Warning)) // of a process that starts; nil for none

	lookup   func(ctx context.Context, name string) error // of an address, before each connection; nil for none
	commands map[string]transaction.Commands              // of a node; nil for those of this build

	messenger func(*group.Group, transport.Messenger) transport.Messenger // see Options

	ledger  testspec.Ledger
	tracers []*testspec.Tracer        // of all stores that there have been
	leaders map[int]*testspec.Leaders // of the groups
	voters  testspec.Voters           // of group 0

	firstGroups sync.Map // by names of nodes: their *group.Group of group 0
	skewMu      sync.Mutex
	skew        map[string]time.Duration
	boots       map[string]int
}

var simLog = os.Getenv("STINT_SIM_LOG") != ""

func simulate(t *testing.T, names ...string) *simulated {
	t.Helper()
	return simulateWith(t, func(*simulated) {}, names...)
}

// simulateWith is simulate for a cluster that prepare changes before its nodes start.
func simulateWith(t *testing.T, prepare func(s *simulated), names ...string) *simulated {
	t.Helper()
	s := &simulated{t: t, net: testnet.New(), names: names, nodes: map[string]*Node{}, leaders: map[int]*testspec.Leaders{}, disks: map[string]*memDisk{}, known: map[string][]fsm.Addition{}, commands: map[string]transaction.Commands{}, skew: map[string]time.Duration{}, boots: map[string]int{}}
	t.Cleanup(s.followed)
	out := io.Discard
	if simLog {
		out = os.Stderr
	}
	s.log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	prepare(s)
	for _, name := range names {
		s.start(name)
	}
	return s
}

func (s *simulated) start(name string) *Node {
	s.t.Helper()
	if s.disks[name] == nil {
		s.disks[name] = newMemDisk(0)
	}
	n, err := Open(s.options(name, name, s.disks[name]))
	if err != nil {
		s.t.Fatal(err)
	}
	s.nodes[name] = n
	s.everStarted = append(s.everStarted, n)
	return n
}

func (s *simulated) options(name, address string, disk Disk) Options {
	commands := s.commands[name]
	if commands == nil {
		commands = &data.Executor{}
	}
	config := store.Config{Shards: 4, Replicated: true, Commands: commands}
	s.trace(&config, name, 0)
	if s.warnings != nil {
		config.Warned = s.warnings()
	}
	o := Options{
		Node: name, Listen: address, Advertise: address, Peers: s.names, BootstrapExpect: cmp.Or(s.expect, len(s.names)),
		Client: "client-" + name,
		Store:  store.New(config), Disk: disk, Log: s.log,
		Heartbeat: 300 * time.Millisecond, DecideTimeout: time.Second, DiskTimeout: 2 * time.Second, LogBytes: 64 << 20,
		Ahead:     s.ahead,
		Allowance: func() bool { return s.sharing.Load() }, Network: s.networkOf(address), additions: s.known[name],
		Wall:    func() time.Time { return time.Now().Add(s.skewOf(name)) },
		Report:  func() *clusterstatus.Report { return &clusterstatus.Report{Admin: "admin-" + name} },
		Watched: s.watched.Load, Counts: func() *clusterstatus.Counts {
			return &clusterstatus.Counts{Denials: int64(name[0])}
		},
		SinceBoot: func() (string, time.Duration) {
			return fmt.Sprint(name, s.bootOf(name)), time.Duration(time.Now().UnixNano() + s.suspended.Load())
		},
		Groups: s.groups, Replicas: s.replicas, OpenGroup: s.disks[name].openGroup, ClearGroup: s.disks[name].clearGroup,
		Shared: s.shared, ImportName: s.imports[name], onImport: s.onImport,
	}
	s.followMessages(name, &o)
	for number := 0; number <= s.groups && s.groups > 0; number++ {
		owns := func(key []byte) bool { return slot.GroupOf(slot.Of(key), s.groups) == number }
		config := store.Config{Shards: 4, Replicated: true, Commands: &data.Executor{Owns: owns}, Owns: owns}
		s.trace(&config, name, number)
		o.KeyStores = append(o.KeyStores, store.New(config))
	}
	if s.groups > 0 {
		o.Store.Close()
		o.Store, o.KeyStores = o.KeyStores[0], o.KeyStores[1:]
	}
	return o
}

// trace sets the Trace of a node's store of a group. At the end of the test its loans and purses, and what leaders granted
// from memory, must have followed the specification.
func (s *simulated) trace(config *store.Config, node string, number int) {
	tracer := &testspec.Tracer{Holder: fmt.Sprint(keyspace.GroupHolder, number), Import: s.imports != nil}
	if s.shared != nil { // all loans of purses are made here
		tracer.Ledger = &s.ledger
	}
	s.tracers = append(s.tracers, tracer)
	if s.leaders[number] == nil {
		s.leaders[number] = &testspec.Leaders{}
		if number == 0 {
			s.leaders[number].Granted = s.grantsFromMemory
		}
	}
	log, memory := s.leaders[number].Log(), s.leaders[number].Memory(node)
	config.TraceBeside = func(now int64, ops []engine.Op, results []engine.Result) {
		tracer.Await(now, ops, results)
		memory(now, ops, results)
	}
	config.Trace = func(now int64, ops []engine.Op, results []engine.Result) {
		tracer.Trace(now, ops, results)
		log(now, ops, results)
	}
}

// followed fails the test if a store or a leader has not followed the specification.
func (s *simulated) followed() {
	all, refused, fromMemory := 0, 0, 0
	for _, tracer := range s.tracers {
		events, err := tracer.Err()
		if all += events; err != nil {
			s.t.Error(err)
			refused++
		}
	}
	for number, leaders := range s.leaders {
		events, err := leaders.Err()
		if fromMemory += events; err != nil {
			s.t.Errorf("group %d: %v", number, err)
		}
	}
	messages, err := s.voters.Err()
	if err != nil {
		s.t.Error(err)
	}
	if all+fromMemory > 0 {
		s.t.Logf("%d operations on loans and purses followed the specification, of %d stores, and those of %d did not; %d grants from memory and their entries did; %d votes and leases did", all, len(s.tracers)-refused, refused, fromMemory, messages)
	}
}

// networkOf returns the network as a node sees it, with names to look up if the test has a resolver.
func (s *simulated) networkOf(address string) transport.Network {
	if s.lookup == nil {
		return s.net.Of(address)
	}
	return namedNet{s.net.Of(address), s.lookup}
}

// reboot makes a node's machine forget how long it has been up.
func (s *simulated) reboot(name string) {
	s.skewMu.Lock()
	defer s.skewMu.Unlock()
	s.boots[name]++
}

func (s *simulated) bootOf(name string) int {
	s.skewMu.Lock()
	defer s.skewMu.Unlock()
	return s.boots[name]
}

func (s *simulated) skewOf(name string) time.Duration {
	s.skewMu.Lock()
	defer s.skewMu.Unlock()
	return s.skew[name]
}

func (s *simulated) kill(name string) {
	if n := s.nodes[name]; n != nil {
		s.end(n)
		delete(s.nodes, name)
	}
}

func (s *simulated) end(n *Node) {
	if s.ending != nil {
		s.ending(n)
	}
	end(n)
}

func end(n *Node) {
	defer within(time.Minute, "a node has not ended")()
	_ = n.Close()
	for _, s := range append(n.opt.KeyStores, n.opt.Store) {
		s.Close()
	}
}

func (s *simulated) stop() {
	for _, name := range s.names {
		s.kill(name)
	}
}

// leader waits for a leader with its lease. A leader that has offered leadership to another node may be without a lease
// for long, because everything goes through the log then: after a while it is returned too.
func (s *simulated) leader() *Node {
	s.t.Helper()
	return s.leaderOf(0)
}

// leaderOf is leader for a group.
func (s *simulated) leaderOf(number uint32) *Node {
	s.t.Helper()
	for round := range 3000 {
		for _, n := range s.nodes {
			g := n.groupOf(number)
			if g == nil {
				continue
			}
			if r := g.OwnStatus(); r.Leads && (r.Leased || round > 1000 && g.Parts().OpenOffers > 0) {
				return n
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	for name, n := range s.nodes {
		s.t.Logf("%s (%s): table %v, %v", name, n.id, n.first.Cluster().Placement, n.keys.Group(int(number)))
		if g := n.groupOf(number); g != nil {
			s.t.Logf("%s (%s): isolated %v, members %v, Raft %v", name, n.id, n.conns.IsIsolated(), g.Members(),
				g.Parts().Raft.Stats())
		}
	}
	s.t.Fatalf("group %d has no leader within half a minute", number)
	return nil
}

// do asks a node to decide operations, and returns the results.
func do(n *Node, ops ...engine.Op) []engine.Result { return doBatch(n, &engine.Batch{Ops: ops}) }

// doBatch is do for a batch without results.
func doBatch(n *Node, b *engine.Batch) []engine.Result {
	b.Results = make([]engine.Result, len(b.Ops))
	done := make(chan struct{})
	b.Done = func() { close(done) }
	defer within(time.Minute, "a call has not been answered")()
	if !decide(n, b) {
		<-done
	}
	return b.Results
}

// decide asks a node to decide a batch like a session, which reuses the memory of the operations once Decide has
// returned.
func decide(n *Node, b *engine.Batch) (finished bool) {
	own := *b
	own.Ops = make([]engine.Op, len(b.Ops))
	for i := range b.Ops {
		own.Ops[i] = b.Ops[i].Clone()
	}
	finished = n.Decide(&own)
	for i := range own.Ops {
		useAgain(&own.Ops[i])
	}
	return finished
}

const usedAgain = '#' // in all of a key

// keyReadLate returns a key of a store that was read from reused memory; "" if there is none. It also finds keys that
// have expired.
func keyReadLate(kept *store.Store) (key string) {
	kept.Scan(0, math.MaxInt, 1, func(e keyspace.Entry) {
		if len(e.Key) > 0 && len(bytes.Trim(e.Key, string(usedAgain))) == 0 {
			key = string(e.Key)
		}
	})
	return key
}

// useAgain overwrites the memory that an operation refers to.
func useAgain(op *engine.Op) {
	for _, b := range append([][]byte{op.Key, op.Who}, op.Args...) {
		for i := range b {
			b[i] = usedAgain
		}
	}
	for i := range op.Parts {
		useAgain(&op.Parts[i])
	}
}

// within panics, and shows what every goroutine is doing, unless the returned function is called in time. In a bubble
// time goes on while something waits for ever.
func within(limit time.Duration, otherwise string) (stop func() bool) {
	return time.AfterFunc(limit, func() { panic(fmt.Sprintf("after %v %s", limit, otherwise)) }).Stop
}

func acquire(key string, capacity int64, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Acquire, Key: []byte(key), Tokens: tokens,
		Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1,
			Period: int64(time.Hour)}}}
}

func TestNodeThatHasEndedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		nodes := []*Node{s.leader()}
		for _, name := range s.names {
			if name != nodes[0].opt.Node {
				nodes = append(nodes, s.nodes[name])
			}
		}
		for _, n := range nodes {
			s.kill(n.opt.Node)
			if res := do(n, acquire("k", 100, 1)); res[0].Status != engine.NoLeader {
				t.Errorf("%s has ended and answers with %v", n.opt.Node, res[0].Status)
			}
		}
	})
}

func TestClusterFormsDecidesAndFailsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		granted := int64(0)
		first := s.leader()
		for i := range 30 {
			for _, name := range s.names {
				for _, res := range do(s.nodes[name], acquire("k", 100, 1)) {
					if res.Status != engine.OK {
						t.Fatalf("round %d at %s: status %d", i, name, res.Status)
					}
					granted += res.Granted
				}
			}
		}
		if granted != 90 {
			t.Errorf("%d of 90 granted before the failure", granted)
		}
		s.kill(first.opt.Node)
		for range 20 {
			for _, n := range s.nodes {
				for _, res := range do(n, acquire("k", 100, 1)) {
					if res.Status == engine.OK {
						granted += res.Granted
					}
				}
			}
		}
		if granted != 100 {
			t.Errorf("%d granted of a bucket of 100", granted)
		}
		s.start(first.opt.Node)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := s.nodes[first.opt.Node].Group().Barrier(ctx); err != nil {
			t.Fatal(err)
		}
		if res := do(s.nodes[first.opt.Node], acquire("k", 100, 1)); res[0].Allowed {
			t.Error("the node that came back grants more")
		}
	})
}
