package cluster

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/engine"
)

func sampleBatch() *engine.Batch {
	return &engine.Batch{Atomic: true, Ops: []engine.Op{
		acquire("k", 10, 1), {Verb: engine.Look, Key: []byte("other")}, acquire("k2", 10, 3),
	}}
}

func TestGroupRoundTrip(t *testing.T) {
	for _, which := range [][]uint32{nil, {0, 2}} {
		b := sampleBatch()
		buf := appendGroup([]byte("before"), &engine.OpWriter{}, b, which)
		g, rest, err := nextGroup(append(buf, "after"...)[len("before"):])
		if err != nil || string(rest) != "after" || !g.atomic {
			t.Fatalf("%+v, rest %q, %v", g, rest, err)
		}
		ops, err := readGroup(&engine.OpReader{}, g, nil)
		want := b.Ops
		if which != nil {
			want = []engine.Op{b.Ops[0], b.Ops[2]}
		}
		if err != nil || len(ops) != len(want) {
			t.Fatalf("%d operations, %v", len(ops), err)
		}
		for i := range ops {
			if !bytes.Equal(ops[i].Key, want[i].Key) || !reflect.DeepEqual(ops[i].Limit, want[i].Limit) || ops[i].Tokens != want[i].Tokens {
				t.Errorf("operation %d: %+v, want %+v", i, ops[i], want[i])
			}
		}
	}
}

func TestEntriesThatDoNotRead(t *testing.T) {
	whole := make([]byte, entryHead)
	stampEntry(whole, kindTick, 5, 6, 7)
	if e, err := readEntry(whole); err != nil || e.now != 5 || e.proposer != 6 || e.number != 7 {
		t.Errorf("%+v, %v", e, err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"a newer version": func(b []byte) []byte { b[0]++; return b },
		"a newer kind":    func(b []byte) []byte { b[1] = 99; return b },
	} {
		if _, err := readEntry(change(bytes.Clone(whole))); !errors.Is(err, errNewerEntry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readEntry(whole[:entryHead-1]); !errors.Is(err, errEntry) {
		t.Errorf("cut short: %v", err)
	}
}

// A node that meets an entry of a newer version stops with a sentence and carries out nothing more.
func TestNewerEntryStopsTheNode(t *testing.T) {
	f := newTestFSM(t)
	var told error
	f.fail = func(err error) { told = err }
	newer := make([]byte, entryHead)
	stampEntry(newer, kindTick, 5, 6, 7)
	newer[0]++
	f.Apply(&raft.Log{Index: 3, Data: newer})
	if told == nil || !strings.Contains(told.Error(), "entry 3 of the log") || !strings.Contains(told.Error(), "newer version") {
		t.Errorf("%v", told)
	}
	entry := make([]byte, entryHead)
	entry = appendGroup(entry, &engine.OpWriter{}, sampleBatch(), nil)
	stampEntry(entry, kindDecisions, 10, 6, 8)
	f.Apply(&raft.Log{Index: 4, Data: entry})
	if f.store.Len() != 0 {
		t.Error("it went on")
	}
	if _, err := f.Snapshot(); err == nil {
		t.Error("it takes snapshots of a state that lacks an entry")
	}
}

func newTestFSM(t testing.TB) *fsm {
	store := engine.New(engine.Options{Shards: 1, Governed: true})
	t.Cleanup(store.Close)
	f := &fsm{store: store, clock: newClock(time.Now), own: func(uint64) *entry { return nil }, counts: newCounts(),
		log: slog.New(slog.NewTextHandler(io.Discard, nil)), fail: func(err error) {}}
	f.known.Store(&register{Members: map[raft.ServerID]member{}})
	return f
}

// FuzzApply has the fsm carry out any bytes: it takes them or fails with a reason.
func FuzzApply(f *testing.F) {
	entry := appendGroup(make([]byte, entryHead), &engine.OpWriter{}, sampleBatch(), nil)
	stampEntry(entry, kindDecisions, time.Now().UnixNano(), 6, 8)
	f.Add(entry)
	member := append(make([]byte, entryHead), `{"id":"a#1","member":{"node":"a"}}`...)
	stampEntry(member, kindMember, 1, 1, 1)
	f.Add(member)
	m := newTestFSM(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m.broken = nil
		failed := false
		m.fail = func(error) { failed = true }
		m.Apply(&raft.Log{Index: 1, Data: b})
		if failed != (m.broken != nil) {
			t.Error("it failed without saying so")
		}
	})
}

// FuzzAnswers has a forwarder take in any bytes as answers.
func FuzzAnswers(f *testing.F) {
	var res engine.Result
	good := append(make([]byte, 8), 1, outcomeDecided)
	f.Add(engine.AppendResult(good, &res))
	f.Add(append(make([]byte, 8), 1, outcomeNotTaken))
	f.Fuzz(func(t *testing.T, b []byte) {
		fw := newForwarder()
		fw.clock, fw.counts = newClock(time.Now), newCounts()
		done := 0
		c := &call{batch: &engine.Batch{Ops: make([]engine.Op, 1), Results: make([]engine.Result, 1), Done: func() { done++ }}}
		c.count()
		c.state.Store(callSent)
		r := &route{pending: map[uint64]*call{1: c}, over: make(chan struct{}), empty: make(chan struct{})}
		_ = fw.answers(r, b)
		fw.lost(r)
		if done > 1 || done == 0 && len(fw.waiting) == 0 {
			t.Errorf("answered %d times, %d waiting", done, len(fw.waiting))
		}
	})
}

// Strangers on the port between nodes change nothing and are sent away.
func TestStrangers(t *testing.T) {
	p := &peers{network: TCP{}, address: "x", log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		hello: func(raft.ServerID) greeting { return greeting{From: "a#1", Cluster: "ours"} }, serve: map[byte]func(net.Conn){forControl: func(net.Conn) {}}}
	if err := p.listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.ended.Go(p.run)
	defer p.halt()
	frame := func(g string) string { return string(sealFrame(append(make([]byte, 4), g...))) }
	for name, sent := range map[string]string{
		"HTTP":              "GET / HTTP/1.1\r\n\r\n",
		"Redis":             "*1\r\n$4\r\nPING\r\n",
		"another purpose":   peerMagic + "X",
		"a huge frame":      peerMagic + "R\xff\xff\xff\x7f",
		"no JSON":           peerMagic + "R" + frame("hello"),
		"another cluster":   peerMagic + "R" + frame(`{"from":"b#1","cluster":"theirs"}`),
		"for somebody else": peerMagic + "R" + frame(`{"from":"b#1","to":"c#1"}`),
	} {
		conn, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(sent))
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // so that a failure ends; it is closed much sooner
		answer, err := io.ReadAll(conn)
		if err != nil && errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(answer), `"from"`) != strings.Contains(sent, `"from"`) {
			t.Errorf("%s: answered %q", name, answer)
		}
		if strings.Contains(sent, `"from"`) && !strings.Contains(string(answer), "refused") {
			t.Errorf("%s: not refused: %q", name, answer)
		}
		_ = conn.Close()
	}
}
