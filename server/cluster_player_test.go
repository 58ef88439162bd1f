package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/transcript"
)

// What a server alone answers, a cluster of three answers too: every transcript is played on three nodes, whose network is in
// memory and whose time is the test's, through the leader and through another node.
func TestTranscriptsOnThreeNodes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(transcripts, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	for _, through := range []string{"leader", "follower"} {
		for _, file := range files {
			if filepath.Base(file) == "fw-acquire-calendar.txt" {
				continue // it takes a month, which is a hundred million heartbeats
			}
			t.Run(through+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { playOnThreeNodes(t, file, through == "leader") })
			})
		}
	}
}

func playOnThreeNodes(t *testing.T, file string, onLeader bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := newClusterTimePlayer(t, onLeader)
	got, err := transcript.Replay(string(text), p)
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] && (onLeader || denials.ReplaceAllString(line, "…") != denials.ReplaceAllString(want[i], "…")) {
			t.Fatalf("%s:%d: got %s, want %s", file, i+1, line, append(want, "nothing")[min(i, len(want))])
		}
	}
}

// denials are what a policy has denied. They are not in the log: the node that led when they were made has counted them.
var denials = regexp.MustCompile(`"(shadow_)?denied" \d+`)

// clusterTimePlayer is a sessionPlayer whose operations are decided by a cluster of three nodes.
type clusterTimePlayer struct {
	*sessionPlayer
	nodes  []*cluster.Node
	leader *cluster.Node
	own    *cluster.Node // of the server that is played on
}

// formingTime is more than three nodes take to form a cluster.
const formingTime = 30 * time.Second

func newClusterTimePlayer(t *testing.T, onLeader bool) *clusterTimePlayer {
	time.Sleep(time.Until(testStart.Add(-formingTime)))
	p := &clusterTimePlayer{}
	network, stores := newMemoryNetwork(), []*engine.Store{}
	peers := []string{"node-0:1", "node-1:1", "node-2:1"}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	for i, own := range peers {
		disk, err := cluster.OpenDir(t.TempDir(), log)
		if err != nil {
			t.Fatal(err)
		}
		store := engine.New(engine.Options{Shards: 16, Governed: true})
		node, err := cluster.Open(cluster.Options{
			Node: fmt.Sprint("n", i), Listen: own, Advertise: own, Peers: peers, BootstrapExpect: len(peers), Client: own, Store: store, Disk: disk,
			Log: log, Network: network, Heartbeat: 200 * time.Millisecond, DecideTimeout: time.Minute, DiskTimeout: time.Hour, LogBytes: 1 << 30,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.nodes, stores = append(p.nodes, node), append(stores, store)
	}
	time.Sleep(time.Until(testStart))
	at := slices.IndexFunc(p.nodes, func(n *cluster.Node) bool { leads, _ := n.Leads(); return leads })
	if at < 0 {
		t.Fatalf("no leader after %v", formingTime)
	}
	if p.leader = p.nodes[at]; !onLeader {
		at = (at + 1) % len(p.nodes)
	}
	p.own = p.nodes[at]
	cfg := config.Default()
	cfg.Listen, cfg.Loops, cfg.IdleTimeout = []string{"127.0.0.1:0"}, 2, 0
	clock := NewClock()
	s := New(Options{Config: cfg, Decider: p.own, Keys: stores[at], Clock: clock, Version: "0.0.0-test", Log: log})
	p.sessionPlayer = &sessionPlayer{testHost: &testHost{Server: s, clock: clock, store: stores[at]}, conns: map[string]*pipe{}, rest: p.rest}
	return p
}

// rest lets time pass only if what was asked is not decided without.
func (p *clusterTimePlayer) rest() {
	for range 10_000 {
		synctest.Wait()
		undecided := false
		for _, c := range p.conns {
			undecided = undecided || !c.closed && c.kept != nil && !c.done.Load()
		}
		if !undecided {
			return
		}
		time.Sleep(time.Microsecond)
	}
}

// Do implements transcript.Player. Commands that look at a node's own state see what was answered before.
func (p *clusterTimePlayer) Do(name string, command [][]byte, want string) (string, error) {
	sub := ""
	if len(command) > 1 {
		sub = " " + string(command[1])
	}
	if readsLocally.MatchString(string(command[0]) + sub) {
		if err := p.catchUp(); err != nil {
			return "", err
		}
	}
	return p.sessionPlayer.Do(name, command, want)
}

// catchUp has the node apply what the leader has, without time passing. A follower learns that an entry is committed with
// the next one, so that further ones are made, of operations that find nothing.
func (p *clusterTimePlayer) catchUp() error {
	for index, tries := p.leader.Status().AppliedIndex, 0; p.own.Status().AppliedIndex < index; tries++ {
		if tries > 100 {
			return fmt.Errorf("the node has not applied entry %d", index)
		}
		nothing := engine.Op{Verb: engine.Release, Key: []byte("catch up"), Who: []byte("nobody")}
		p.leader.Decide(&engine.Batch{Ops: []engine.Op{nothing, nothing}, Results: make([]engine.Result, 2), Atomic: true, Done: func() {}})
		synctest.Wait()
	}
	return nil
}

var readsLocally = regexp.MustCompile(`(?i)^(DBSIZE|SCAN|KEYS|RANDOMKEY|INFO|RL.POLICY (GET|LIST)|MEMORY STATS)\b`)

// Advance implements transcript.Player.
func (p *clusterTimePlayer) Advance(d time.Duration) {
	time.Sleep(d)
	p.settle()
}

// Close implements transcript.Player.
func (p *clusterTimePlayer) Close() error {
	err := p.sessionPlayer.Close()
	p.waits.stop()
	for _, n := range p.nodes {
		err = errors.Join(err, n.Close())
	}
	return err
}

// memoryNetwork is a [cluster.Network] of pipes.
type memoryNetwork struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
}

func newMemoryNetwork() *memoryNetwork {
	return &memoryNetwork{listeners: map[string]*memoryListener{}}
}

// Listen implements [cluster.Network].
func (m *memoryNetwork) Listen(address string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &memoryListener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	m.listeners[address] = l
	return l, nil
}

// Dial implements [cluster.Network].
func (m *memoryNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[address]
	m.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryListener struct {
	address string
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr(l.address) }

type memoryAddr string

func (a memoryAddr) Network() string { return "memory" }
func (a memoryAddr) String() string  { return string(a) }
