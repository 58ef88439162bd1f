package server

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/transcripttest"
)

// fakeCluster is a Membership with results that the test sets. It finishes every request at once, on another
// goroutine.
type fakeCluster struct {
	mu     sync.Mutex
	status clusterstatus.Status
	moved  bool
}

func (f *fakeCluster) Status() clusterstatus.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeCluster) Leads() bool { return f.Status().State == clusterstatus.Leader }

func (f *fakeCluster) Leaders() uint64 { return f.Status().Term }

func (f *fakeCluster) AwaitsImport() bool { return f.Status().AwaitsImport }

func (f *fakeCluster) Redirects(*engine.Op) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status.LeaderClientAddr, f.moved && f.status.State != clusterstatus.Leader
}

func elsewhere(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

func (f *fakeCluster) change(done func(error), format string, args ...any) {
	elsewhere(func() {
		switch st := f.Status(); {
		case !st.HasLeader():
			done(fmt.Errorf("asking the leader: %w", command.ErrNoLeader))
		case format != "":
			done(fmt.Errorf(format, args...))
		default:
			done(nil)
		}
	})
}

func (f *fakeCluster) TooNew(ops []engine.Op) error {
	return fmt.Errorf("verb %d needs format version 2, and the member 'c' knows version 1: nothing was taken; upgrade it, then try again", ops[0].Verb)
}

func (f *fakeCluster) Add(id, addr string, voter bool, done func(error)) {
	if addr == "nonsense" {
		f.change(done, "addr: must be HOST:PORT, got '%s'", addr)
		return
	}
	f.mu.Lock()
	f.status.Members = append(f.status.Members, clusterstatus.Member{ID: id, Addr: addr, Voter: voter})
	f.mu.Unlock()
	f.change(done, "")
}

func (f *fakeCluster) Remove(id string, done func(error)) {
	f.change(done, "%s is not a node of this cluster", id)
}
func (f *fakeCluster) Transfer(id string, done func(error)) { f.change(done, "") }
func (f *fakeCluster) Snapshot(done func(error))            { elsewhere(func() { done(nil) }) }

func (f *fakeCluster) Wait(replicas int, timeout time.Duration, done func(int)) {
	elsewhere(func() { done(min(replicas, len(f.Status().Members)-1)) })
}

func (f *fakeCluster) Barrier(done func(error)) { f.change(done, "") }

// threeNodes is the status of node a, where leader is the leader, "" for none.
func threeNodes(leader string) clusterstatus.Status {
	st := clusterstatus.Status{
		ClusterID: "c1", NodeID: "a", State: clusterstatus.Follower, Healthy: leader != "", Term: 7, LeaderID: leader, LastContact: 1500 * time.Millisecond,
		LastLogIndex: 12, CommitIndex: 11, AppliedIndex: 10, LastSnapshotIndex: 5, LogBytes: 4096, Time: testStart.UnixNano(), FormatVersion: 1,
	}
	for i, id := range []string{"a", "b", "c"} {
		m := clusterstatus.Member{ID: id, Addr: fmt.Sprint("10.0.0.", i+1, ":7379"), ClientAddr: fmt.Sprint("10.0.0.", i+1, ":6379"),
			Voter: id != "c", Leader: id == leader, Reachable: true, Healthy: true, AppliedIndex: uint64(10 - i), LastContact: time.Duration(i) * time.Second, FormatVersion: uint32(1 + i%2)}
		if m.Leader {
			st.LeaderAddr, st.LeaderClientAddr = m.Addr, m.ClientAddr
		}
		st.Members = append(st.Members, m)
	}
	if st.LastLeaderID = leader; leader == "" {
		st.LastLeaderID = "c"
	}
	if leader == "a" {
		st.State, st.LastContact = clusterstatus.Leader, 0
	} else if leader == "" {
		st.State = clusterstatus.Candidate
	}
	return st
}

// undeciding answers operations on keys that begin with a status' name with it, and decides the others.
type undeciding struct{ *decider.Local }

var statusOfKey = map[string]engine.Status{
	"uncertain": engine.Uncertain, "noleader": engine.NoLeader, "moved": engine.Moved, "overloaded": engine.Overloaded,
	"toobig": engine.TooBig, "unreadable": engine.Unreadable, "toonew": engine.TooNew,
}

func (u undeciding) Decide(b *engine.Batch) bool {
	u.Local.Decide(b)
	for i := range b.Ops {
		key := b.Ops[i].Key
		if b.Ops[i].Verb == engine.AcquireAll {
			key = b.Ops[i].Parts[0].Key
		}
		word, _, _ := bytes.Cut(key, []byte{':'})
		status, undecided := statusOfKey[string(word)]
		if !undecided {
			continue
		}
		b.Results[i] = engine.Result{Status: status}
		if b.Atomic {
			for j := range b.Results {
				b.Results[j] = engine.Result{Status: status}
			}
			break
		}
	}
	return true
}

func newClusterPlayer(t testing.TB, c *fakeCluster) *sessionPlayer {
	p := &sessionPlayer{conns: map[string]*pipe{}}
	p.testHost = newHost(t, func(l *decider.Local) decider.Decider { return undeciding{l} }, func(cfg *config.Config) {
		if c.moved {
			cfg.Redirect = "moved"
		}
		cfg.Dir, cfg.NodeID, cfg.ClusterListen, cfg.ClusterPeers = t.TempDir(), "a", "127.0.0.1:7379", []string{"127.0.0.1:7379"}
	})
	p.Server.env.Cluster, p.Server.env.Redirect = c, c.moved
	return p
}

// A cluster node's replies to clients: on the leader, on another node, and without a leader.
func TestClusterTranscripts(t *testing.T) {
	transcripttest.Play(t, "testdata/cluster", *update, func(t *testing.T) transcripttest.Player {
		name := strings.TrimSuffix(path.Base(t.Name()), ".txt")
		leader := map[string]string{"leader": "a", "follower": "b", "undecided": "b", "no-leader": "", "starting": "", "moved": "b", "moved-no-leader": ""}
		if _, known := leader[name]; !known {
			t.Fatalf("no cluster for the transcript %s", name)
		}
		c := &fakeCluster{status: threeNodes(leader[name]), moved: strings.HasPrefix(name, "moved")}
		if name == "starting" {
			c.status = clusterstatus.Status{NodeID: "a", State: clusterstatus.Starting, Forming: true}
		}
		return newClusterPlayer(t, c)
	})
}

// A transaction queued on the leader and sent when it has become another node is redirected whole.
func TestExecAfterLeadershipWasLost(t *testing.T) {
	c := &fakeCluster{status: threeNodes("a"), moved: true}
	p := newClusterPlayer(t, c)
	conn := p.open("")
	conn.deliver(frames("MULTI", "TB.ACQUIRE k 5 1/s", "PING"))
	c.mu.Lock()
	c.status = threeNodes("b")
	c.mu.Unlock()
	conn.deliver(frames("EXEC", "TB.ACQUIRE k 5 1/s"))
	want := "+OK\r\n+QUEUED\r\n+QUEUED\r\n-MOVED 7629 10.0.0.2:6379\r\n-MOVED 7629 10.0.0.2:6379\r\n"
	if got := conn.reply(t); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.store.Len() != 0 {
		t.Error("it took something")
	}
}

// Errors of the cluster keep the code that clients look for.
func TestAwaitedErrors(t *testing.T) {
	for _, err := range []error{command.ErrNoLeader, command.ErrUncertain, command.ErrImporting, errors.New("no")} {
		c := &failingCluster{fakeCluster{status: threeNodes("b")}, err}
		p := newClusterPlayer(t, &c.fakeCluster)
		p.Server.env.Cluster = c
		conn := p.open("")
		conn.deliver(frames("RAFT TRANSFER b"))
		want := strings.TrimPrefix("-ERR "+err.Error(), "-ERR ")
		if errors.Is(err, command.ErrNoLeader) || errors.Is(err, command.ErrUncertain) || errors.Is(err, command.ErrImporting) {
			want = "-" + want
		} else {
			want = "-ERR " + want
		}
		if got := strings.TrimSpace(conn.reply(t)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

type failingCluster struct {
	fakeCluster
	err error
}

func (f *failingCluster) Transfer(_ string, done func(error)) { elsewhere(func() { done(f.err) }) }

// A node that follows a leader but has not caught up with it is not ready, and does not say that its cluster is.
func TestNodeThatHasNotCaughtUp(t *testing.T) {
	st := threeNodes("b")
	st.Healthy = false
	p := newClusterPlayer(t, &fakeCluster{status: st})
	conn := p.open("")
	conn.deliver(frames("CLUSTER INFO", "INFO replication"))
	reply := conn.reply(t)
	for _, want := range []string{"cluster_state:fail", "cluster_slots_ok:0", "master_link_status:down", "master_sync_in_progress:1"} {
		if !strings.Contains(reply, want) {
			t.Errorf("no %s in %s", want, reply)
		}
	}
	p.Server.serving.Store(true)
	if err := p.Ready(); !errors.Is(err, errNotHealthy) {
		t.Errorf("ready: %v", err)
	}
	st.AwaitsImport = true
	p = newClusterPlayer(t, &fakeCluster{status: st})
	p.Server.serving.Store(true)
	if err := p.Ready(); !errors.Is(err, errImporting) {
		t.Errorf("ready before the import: %v", err)
	}
	st.AwaitsImport, st.Members = false, st.Members[1:]
	p = newClusterPlayer(t, &fakeCluster{status: st})
	p.Server.serving.Store(true)
	if err := p.Ready(); !errors.Is(err, errNotMember) {
		t.Errorf("ready after its removal: %v", err)
	}
}

// A node with groups that died as their leader is shown as such by every command, until another node leads them.
func TestLeaderOfGroupsThatDied(t *testing.T) {
	st := threeNodes("b")
	st.Members[2].Reachable = false
	st.Groups = []clusterstatus.Group{{Number: 1, LastSlot: 8191, LeaderID: "b", LastLeaderID: "b"}, {Number: 2, FirstSlot: 8192, LastSlot: 16383, LastLeaderID: "c"}}
	p := newClusterPlayer(t, &fakeCluster{status: st})
	conn := p.open("")
	conn.deliver(frames("CLUSTER INFO", "CLUSTER NODES", "CLUSTER SHARDS"))
	reply := conn.reply(t)
	for want, times := range map[string]int{"cluster_slots_fail:8192": 1, "master,fail": 1, "\r\nonline\r\n": 1, "\r\nfail\r\n": 1} {
		if strings.Count(reply, want) != times {
			t.Errorf("not %d of %q in %s", times, want, reply)
		}
	}
	if has := metrics.Samples(&metrics.Snapshot{Cluster: &st})["stint_raft_has_leader"]; has[0].Value != 0 {
		t.Errorf("metrics show a leader of all groups: %v", has)
	}
}

// A follower that has heard of its leader, but not yet where clients reach it, is not connected to nobody.
func TestRoleBeforeTheLeadersAddressIsKnown(t *testing.T) {
	st := threeNodes("b")
	st.LeaderClientAddr = ""
	p := newClusterPlayer(t, &fakeCluster{status: st})
	if got, err := p.Do("", bytesOf([]string{"ROLE"}), ""); err != nil || got != `["slave" "" 0 "connect" 10]` {
		t.Errorf("%s (%v)", got, err)
	}
}

// A client for clusters that has seen cluster_state:ok gets slots.
func TestSlotsBeforeTheLeadersAddressIsKnown(t *testing.T) {
	st := threeNodes("b")
	for i := range st.Members {
		if st.Members[i].ID == "b" {
			st.Members[i].ClientAddr = ""
		}
	}
	conn := newClusterPlayer(t, &fakeCluster{status: st}).open("")
	conn.deliver(frames("CLUSTER INFO", "CLUSTER SLOTS"))
	reply := conn.reply(t)
	for _, want := range []string{"cluster_state:fail", "cluster_slots_ok:0", "-CLUSTERDOWN"} {
		if !strings.Contains(reply, want) {
			t.Errorf("no %s in %s", want, reply)
		}
	}
}

// Before a cluster has the state that it begins with, no command tells of keys or policies: there may be none yet of
// those that were acknowledged.
func TestNothingIsToldBeforeTheState(t *testing.T) {
	status := threeNodes("a")
	status.AwaitsImport = true
	p := newClusterPlayer(t, &fakeCluster{status: status})
	asked := 0
	for _, row := range command.All {
		if row.Run == nil || row.Flags&command.ReadOnly == 0 {
			continue
		}
		asked++
		line := strings.ReplaceAll(row.FullName, "|", " ") + " " + row.Example
		if got := p.do(t, "client", line); !strings.HasPrefix(got, "-LOADING ") {
			t.Errorf("%s: %.80s", line, got)
		}
	}
	if got := p.do(t, "client", "PING"); asked < 8 || got != "+PONG\r\n" {
		t.Errorf("%d commands were asked, and PING: %s", asked, got)
	}
}
