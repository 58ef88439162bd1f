package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testnet"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/keyevents"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/transcripttest"
	"github.com/stintdb/stint/server/warn"
)

// A cluster of three gives the same replies as a standalone server: every transcript is played on three nodes, whose
// network is in memory and whose time is the test's, through another node than the leader, and every third through the
// leader, too; all by night.
func TestTranscriptsOnThreeNodes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(transcripts, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	for _, through := range []string{"leader", "follower"} {
		for i, file := range files {
			if through == "leader" && i%testsize.Pick(3, 1) != 0 {
				continue
			}
			switch filepath.Base(file) {
			case "fw-acquire-calendar.txt": // it takes a month, which is a hundred million heartbeats
				continue
			case "databases.txt": // a cluster has one
				continue
			}
			t.Run(through+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				t.Parallel()
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
	p := newClusterTimePlayer(t, onLeader, late, 0)
	got, err := transcripttest.Replay(string(text), p)
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got %s, want %s", file, i+1, line, append(want, "nothing")[min(i, len(want))])
		}
	}
}

// clusterTimePlayer is a sessionPlayer whose operations are decided by a cluster of three nodes.
type clusterTimePlayer struct {
	*sessionPlayer
	nodes    []*cluster.Node
	stores   []*store.Store
	channels *[3]pubsub.Channels
	changes  *[3]keyevents.Hub
	network  *testnet.Net
	leader   *cluster.Node
	own      *cluster.Node // of the server that is played on
}

// soon is the heartbeat of tests of the waiting itself. Transcripts have minutes in which nothing but heartbeats
// passes, which cost more than most commands: theirs is longer.
const (
	soon = 600 * time.Millisecond
	late = 3 * time.Second
)

// formingBeats is five times as many heartbeats as the slowest of 100 formations took.
const formingBeats = 20

// newClusterTimePlayer forms a cluster whose nodes hold tokens of busy keys for that time, and plays on one of them.
func newClusterTimePlayer(t *testing.T, onLeader bool, heartbeat, ahead time.Duration) *clusterTimePlayer {
	time.Sleep(time.Until(testStart.Add(-formingBeats * heartbeat)))
	p := &clusterTimePlayer{channels: new([3]pubsub.Channels), changes: new([3]keyevents.Hub)}
	network := testnet.New()
	p.network = network
	peers := []string{"node-0:1", "node-1:1", "node-2:1"}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	for i, own := range peers {
		disk, err := raftstore.Open(t.TempDir(), raftstore.OwnLog, log)
		if err != nil {
			t.Fatal(err)
		}
		keys := store.New(store.Config{Shards: 16, Replicated: true, Commands: &data.Executor{}, Publish: p.channels[i].Publish, Changed: p.changes[i].Changed, Warned: warn.New(warn.Options{Publish: p.channels[i].Publish}).Note})
		p.changes[i].Attach(keys.Observe)
		node, err := cluster.Open(cluster.Options{
			Node: fmt.Sprint("n", i), Listen: own, Advertise: own, Peers: peers, BootstrapExpect: len(peers), Client: own, Store: keys, Disk: disk,
			Log: log, Network: network.Of(own), Heartbeat: heartbeat, MeetEvery: max(heartbeat, time.Second), DecideTimeout: time.Minute, DiskTimeout: time.Hour, LogBytes: 1 << 30, Ahead: ahead,
			Turns: blocking.NewTurns(heartbeat), SinceBoot: sinceBootOfTest,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.nodes, p.stores = append(p.nodes, node), append(p.stores, keys)
	}
	time.Sleep(time.Until(testStart))
	at := slices.IndexFunc(p.nodes, func(n *cluster.Node) bool { leads, _ := n.Group().Leads(); return leads })
	if at < 0 {
		t.Fatalf("no leader after %d heartbeats", formingBeats)
	}
	if p.leader = p.nodes[at]; !onLeader {
		at = (at + 1) % len(p.nodes)
	}
	p.serve(at)
	return p
}

// leaders returns [cluster.Leaders] of a node.
func (p *clusterTimePlayer) leaders(node int) func() uint64 {
	return func() uint64 { return cluster.Leaders(p.nodes[node]) }
}

// sinceBootOfTest passes like the test's time. The machine's own does not: where a test took longer than its time,
// nodes took the difference for a suspend, moved their time forward, and ran slower until it was right again.
func sinceBootOfTest() (boot string, up time.Duration) {
	return "test", time.Since(testStart.Add(-formingBeats * late))
}

// serve starts the server of a node, and plays on it from then on.
func (p *clusterTimePlayer) serve(at int) {
	p.own = p.nodes[at]
	cfg := config.Default()
	cfg.Listen, cfg.Loops, cfg.IdleTimeout, cfg.Databases = []string{"127.0.0.1:0"}, 2, 0, 1
	clock := clock.New(0)
	s := New(Options{Config: cfg, Decider: p.own.Group(), Keys: p.stores[at], Channels: &p.channels[at], KeyEvents: &p.changes[at], Clock: clock, Version: "0.0.0-test", Commit: "0123456789ab", Log: slog.New(slog.DiscardHandler)})
	p.sessionPlayer = &sessionPlayer{testHost: &testHost{Server: s, clock: &clocktest.Manual{Clock: clock}, store: p.stores[at]}, conns: map[string]*pipe{}, rest: p.rest}
}

// rest lets time pass only if the pending commands are not decided otherwise.
func (p *clusterTimePlayer) rest() {
	for range 10_000 {
		synctest.Wait()
		undecided := false
		for _, c := range p.conns {
			undecided = undecided || !c.closed && c.Public().Awaits(wait.ForDecision) && !c.Public().IsDue(wait.ForDecision)
		}
		if !undecided {
			return
		}
		time.Sleep(time.Microsecond)
	}
}

// Do implements transcripttest.Player. Commands that look at a node's own state see every change answered before.
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

// catchUp has the node apply the leader's log, without time passing. A follower learns that an entry is committed with
// the next one, so that further ones are made, of operations that find nothing.
func (p *clusterTimePlayer) catchUp() error {
	for index, tries := p.leader.Group().Status().AppliedIndex, 0; p.own.Group().Status().AppliedIndex < index; tries++ {
		if tries > 100 {
			return fmt.Errorf("the node has not applied entry %d", index)
		}
		nothing := engine.Op{Verb: engine.Release, Key: []byte("catch up"), Who: []byte("nobody")}
		p.leader.Group().Decide(&engine.Batch{Ops: []engine.Op{nothing, nothing}, Results: make([]engine.Result, 2), Atomic: true, Done: func() {}})
		synctest.Wait()
	}
	return nil
}

var readsLocally = regexp.MustCompile(`(?i)^(DBSIZE|SCAN|KEYS|RANDOMKEY|INFO|RL.POLICY (GET|LIST|VERSION|USAGE|OVERRIDES|CALLERS)|MEMORY STATS|CLIENT TRACKINGINFO)\b`)

// Next implements transcripttest.Player. A node hands out messages as it applies them.
func (p *clusterTimePlayer) Next(name string) (string, error) {
	if err := p.catchUp(); err != nil {
		return "", err
	}
	p.settle()
	return p.sessionPlayer.Next(name)
}

// Advance implements transcripttest.Player.
func (p *clusterTimePlayer) Advance(d time.Duration) {
	time.Sleep(d)
	p.settle()
}

// Close implements transcripttest.Player.
func (p *clusterTimePlayer) Close() error {
	err := p.sessionPlayer.Close()
	p.env.WaitQueue.Stop()
	for _, n := range p.nodes {
		err = errors.Join(err, n.Close())
	}
	return err
}
