package rafttransport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/mux"
	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testnet"
)

// node has the transport of a group whose Raft is played by a test.
type node struct {
	*Transport
	links *Links
	peers *transport.Peers
	log   *testlog.Log
}

func start(t *testing.T, network *testnet.Net, address string) *node {
	t.Helper()
	n := &node{log: &testlog.Log{}}
	n.peers = transport.New(transport.Config{Network: network.Of(address), Address: address, Log: n.log.Logger(),
		Known: func(string) raft.ServerID { return "" }, Leads: func() bool { return false },
		Hello: func(to raft.ServerID) transport.Hello {
			return transport.Hello{From: raft.ServerID(address), To: to}
		}})
	if err := n.peers.Listen(address); err != nil {
		t.Fatal(err)
	}
	n.links = New(n.peers, 2*time.Second)
	n.Transport = n.links.Group(0, raft.ServerID(address+"#1"))
	n.peers.Start()
	return n
}

func (n *node) end() {
	_ = n.Close()
	n.peers.Halt()
}

// answer answers the next question that Raft's main loop would.
func (n *node) answer(answer any, err error) (asked chan raft.RPC) {
	asked = make(chan raft.RPC, 1)
	go func() {
		rpc := <-n.Consumer()
		if rpc.Reader != nil {
			b, _ := io.ReadAll(rpc.Reader)
			rpc.Reader = bytes.NewReader(b)
		}
		asked <- rpc
		rpc.Respond(answer, err)
	}()
	return asked
}

var (
	ofA     = raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a#1"), Addr: []byte("a")}
	beat    = raft.AppendEntriesRequest{RPCHeader: ofA, Term: 3}
	entries = raft.AppendEntriesRequest{RPCHeader: ofA, Term: 3, PrevLogEntry: 1, PrevLogTerm: 1, LeaderCommitIndex: 1,
		Entries: []*raft.Log{{Index: 2, Term: 3, Data: []byte("data")}}}
	ofSnapshot = raft.InstallSnapshotRequest{RPCHeader: ofA, SnapshotVersion: 1, Term: 3, Size: 5}
)

// askAll sends a question of each kind from a to b, and compares what arrives.
func askAll(t *testing.T, a, b *node) {
	t.Helper()
	for _, c := range []struct {
		question, answer any
		ask              func(answer any) error
	}{
		{&entries, &raft.AppendEntriesResponse{Term: 3, LastLog: 2, Success: true}, func(x any) error {
			return a.AppendEntries("b#1", "b", &entries, x.(*raft.AppendEntriesResponse))
		}},
		{&raft.RequestVoteRequest{RPCHeader: ofA, Term: 4}, &raft.RequestVoteResponse{Term: 4, Granted: true},
			func(x any) error {
				return a.RequestVote("b#1", "b", &raft.RequestVoteRequest{RPCHeader: ofA, Term: 4}, x.(*raft.RequestVoteResponse))
			}},
		{&raft.RequestPreVoteRequest{RPCHeader: ofA, Term: 4}, &raft.RequestPreVoteResponse{Term: 4, Granted: true},
			func(x any) error {
				return a.RequestPreVote("b#1", "b", &raft.RequestPreVoteRequest{RPCHeader: ofA, Term: 4},
					x.(*raft.RequestPreVoteResponse))
			}},
		{&raft.TimeoutNowRequest{RPCHeader: ofA}, &raft.TimeoutNowResponse{}, func(x any) error {
			return a.TimeoutNow("b#1", "b", &raft.TimeoutNowRequest{RPCHeader: ofA}, x.(*raft.TimeoutNowResponse))
		}},
		{&ofSnapshot, &raft.InstallSnapshotResponse{Term: 3, Success: true}, func(x any) error {
			return a.InstallSnapshot("b#1", "b", &ofSnapshot, x.(*raft.InstallSnapshotResponse), strings.NewReader("bytes"))
		}},
	} {
		asked, got := b.answer(c.answer, nil), reflect.New(reflect.TypeOf(c.answer).Elem()).Interface()
		if err := c.ask(got); err != nil || !reflect.DeepEqual(got, c.answer) {
			t.Fatalf("%T: %+v (%v)", c.question, got, err)
		}
		rpc := <-asked
		if !reflect.DeepEqual(rpc.Command, c.question) {
			t.Errorf("%+v arrives, not %+v", rpc.Command, c.question)
		}
		if rpc.Reader != nil {
			if sent, _ := io.ReadAll(rpc.Reader); string(sent) != "bytes" {
				t.Errorf("the snapshot arrives as %q", sent)
			}
		}
		b.answer(nil, errors.New("not now"))
		if err := c.ask(got); err == nil || err.Error() != "not now" {
			t.Errorf("%T: refused with %v", c.question, err)
		}
	}
}

// After some messages are lost, the next reach a node that was started again.
func TestNodeIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		for range 2 {
			b.end()
			b = start(t, network, "b")
			b.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{}, nil) })
			for range maxIdle { // connections to the process before
				_ = a.AppendEntries("b#1", "b", &beat, new(raft.AppendEntriesResponse))
			}
			askAll(t, a, b)
			// after the snapshot, whose connection is not kept
			if err := a.AppendEntries("b#1", "b", &beat, new(raft.AppendEntriesResponse)); err != nil {
				t.Error(err)
			}
			if a.links.takeIdle(way{address: "b"}) == nil {
				t.Error("no connection is kept")
			}
		}
		b.end()
	})
}

// A node of a build before frames is refused, and told what to do.
func TestNodeWithoutFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		defer b.end()
		if _, _, err := a.peers.Dial(t.Context(), "b", transport.ForRaft); err == nil || !strings.Contains(err.Error(),
			"upgrade it to 0.2.0 first") {
			t.Errorf("its connection for Raft: %v", err)
		}
	})
}

// Heartbeats arrive while Raft's main loop is busy, with entries before them.
func TestHeartbeatsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		defer b.end()
		beats := 0
		b.SetHeartbeatHandler(func(rpc raft.RPC) {
			beats++
			rpc.Respond(&raft.AppendEntriesResponse{Term: 3, Success: true}, nil)
		})
		ended := make(chan error, 1)
		go func() { ended <- a.AppendEntries("b#1", "b", &entries, new(raft.AppendEntriesResponse)) }()
		synctest.Wait()
		for range 10 {
			resp := new(raft.AppendEntriesResponse)
			if err := a.AppendEntries("b#1", "b", &beat, resp); err != nil || !resp.Success {
				t.Errorf("%+v (%v)", resp, err)
			}
		}
		began := time.Now()
		if err := <-ended; err == nil || time.Since(began) != 2*time.Second || beats != 10 {
			t.Errorf("the entries end with %v after %v, with %d heartbeats", err, time.Since(began), beats)
		}
	})
}

// A malformed message closes its connection, with a line in the log; a group that is not here is refused.
func TestMessagesThatNobodySends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		defer b.end()
		if err := a.links.Group(5, "a#1").TimeoutNow("b#1", "b", &raft.TimeoutNowRequest{},
			new(raft.TimeoutNowResponse)); err == nil || err.Error() != "this node has no group 5" {
			t.Errorf("another group: %v", err)
		}
		b.links.Group(7, "b#2") // came back without its disk
		if err := a.links.Group(7, "a#1").TimeoutNow("b#1", "b", &raft.TimeoutNowRequest{},
			new(raft.TimeoutNowResponse)); err == nil || err.Error() != "this is member b#2 of group 7, not b#1" {
			t.Errorf("a member that is gone: %v", err)
		}
		for name, bytes := range map[string]string{
			"a message of kind 9 is not known": "\x0d\x00\x00\x00\x09" + strings.Repeat("\x00", 12),
			"it ends within a field":           "\x01\x00\x00\x00\x01",
			"a frame of 4294967295 bytes":      "\xff\xff\xff\xff",
		} {
			conn, err := a.peers.DialRaft("b")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte(bytes))
			if _, err := conn.Read(make([]byte, 1)); err == nil || errors.As(err, new(net.Error)) {
				t.Errorf("%s: %v", name, err)
			}
			if !b.log.Has(name) {
				t.Errorf("no %q in the log: %s", name, b.log)
			}
			time.Sleep(2 * time.Minute) // such lines come once a minute
		}
	})
}

// Messages of groups of keys share connections, one for entries and one for the rest: each reaches its own group. Long
// ones have a separate connection.
func TestGroupsShareConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		defer b.end()
		const groups = 12
		var asking sync.WaitGroup
		for number := uint32(1); number <= groups; number++ {
			from := a.links.Group(number, "a#1")
			to := b.links.Group(number, "b#1")
			defer from.Close()
			defer to.Close()
			to.SetHeartbeatHandler(func(rpc raft.RPC) {
				rpc.Respond(&raft.AppendEntriesResponse{Term: 1, LastLog: uint64(number)}, nil)
			})
			go func() {
				for i := uint64(1); ; i++ {
					select {
					case rpc := <-to.Consumer():
						q := rpc.Command.(*raft.AppendEntriesRequest)
						if last := q.Entries[len(q.Entries)-1]; string(last.Extensions) != string(rune('a'+number)) || last.Index != i {
							t.Errorf("group %d gets entry %d of %q, behind %d others", number, last.Index, last.Extensions, i-1)
						}
						rpc.Respond(&raft.AppendEntriesResponse{Term: uint64(number), LastLog: i, Success: true}, nil)
					case <-to.closed:
						return
					}
				}
			}()
			asking.Go(func() {
				for i := uint64(1); i <= 50; i++ {
					q, resp := entries, new(raft.AppendEntriesResponse)
					size := 10
					if i == 25 {
						size = maxStreamBytes + 1
					}
					q.Entries = []*raft.Log{{Index: i, Term: 3, Data: make([]byte, size),
						Extensions: []byte(string(rune('a' + number)))}}
					if err := from.AppendEntries("b#1", "b", &q, resp); err != nil || resp.Term != uint64(number) ||
						resp.LastLog != i {
						t.Errorf("group %d, entry %d: %+v (%v)", number, i, resp, err)
					}
				}
			})
			asking.Go(func() {
				for range 50 {
					q, resp := beat, new(raft.AppendEntriesResponse)
					if err := from.AppendEntries("b#1", "b", &q, resp); err != nil || resp.LastLog != uint64(number) {
						t.Errorf("group %d: a heartbeat is answered by %d (%v)", number, resp.LastLog, err)
					}
				}
			})
		}
		asking.Wait()
		a.links.mu.Lock()
		defer a.links.mu.Unlock()
		for to, most := range map[way]int{{address: "b"}: groups, {"b", true, transport.EntriesLane}: groups,
			{"b", true, transport.HeartbeatsLane}: groups} {
			if n := len(a.links.idle[to]); n == 0 || n > most {
				t.Errorf("%d kept for %+v, at most %d were needed", n, to, most)
			}
		}
	})
}

// Connections that are no longer needed at the same time are closed, and connections in use stay.
func TestConnectionsThatAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		defer b.end()
		from, to, beats := a.links.Group(1, "a#1"), b.links.Group(1, "b#1"), way{"b", true, transport.HeartbeatsLane}
		defer from.Close()
		defer to.Close()
		to.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 1}, nil) })
		var taken []*link
		for range 2 * maxIdle {
			l, err := a.links.takeStream(beats)
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, l)
		}
		for _, l := range taken {
			a.links.put(beats, l)
		}
		for range 2*int(maxUnused/time.Second) + 1 {
			q := beat
			if err := from.AppendEntries("b#1", "b", &q, new(raft.AppendEntriesResponse)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		for i, l := range taken {
			if ended, want := l.conn.(*mux.Stream).HasEnded(), i != len(taken)-1; ended != want {
				t.Errorf("connection %d of %d has ended: %v, want %v", i+1, len(taken), ended, want)
			}
		}
		if kept := len(a.links.idle[beats]); kept != 1 {
			t.Errorf("%d are kept", kept)
		}
	})
}

// A connection that is no longer needed may lead to a node that reads nothing: its end delays no message to another
// node.
func TestEndOfAConnectionDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b, c := start(t, network, "a"), start(t, network, "b"), start(t, network, "c")
		for _, n := range []*node{a, b, c} {
			defer n.end()
		}
		from, to, entries := a.links.Group(1, "a#1"), b.links.Group(1, "b#1"), way{"c", true, transport.EntriesLane}
		defer from.Close()
		defer to.Close()
		to.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 1}, nil) })
		var taken []*link
		for range 3 {
			l, err := a.links.takeStream(entries)
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, l)
		}
		a.links.put(entries, taken[0])
		a.links.put(entries, taken[1])
		time.Sleep(2 * maxUnused)
		network.SetCut("a", "c", true)
		var writing sync.WaitGroup
		defer writing.Wait()
		for range 80 { // of 64 KiB, more than the network and the connection hold
			writing.Go(func() { _, _ = taken[2].conn.Write(make([]byte, maxStreamBytes)) })
		}
		synctest.Wait()
		began, q := time.Now(), beat
		if err := from.AppendEntries("b#1", "b", &q, new(raft.AppendEntriesResponse)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("a heartbeat to b took %v", took)
		}
		synctest.Wait()
		if !taken[0].conn.(*mux.Stream).HasEnded() {
			t.Error("no connection was ended: this test shows nothing")
		}
	})
}

// Streams that ended with the other node's process are not tried again: the next message uses a new connection.
func TestStreamsOfAnEndedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := testnet.New()
		a, b := start(t, network, "a"), start(t, network, "b")
		defer a.end()
		from := a.links.Group(1, "a#1")
		defer from.Close()
		for range 3 {
			b.links.Group(1, "b#1").SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{}, nil) })
			if err := from.AppendEntries("b#1", "b", &beat, new(raft.AppendEntriesResponse)); err != nil {
				t.Error(err)
			}
			b.end()
			if err := from.AppendEntries("b#1", "b", &beat, new(raft.AppendEntriesResponse)); err == nil {
				t.Error("an ended process answers")
			}
			b = start(t, network, "b")
		}
		b.end()
	})
}
