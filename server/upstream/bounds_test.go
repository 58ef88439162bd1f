package upstream

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/slot"
)

// asked has requests sent to home, and counts those that are refused because too many are under way.
func asked(h *home, n int, words ...string) (refused int) {
	for range n {
		h.send(time.Hour, words, func(_ reply, err error) {
			if errors.Is(err, errFull) {
				refused++
			}
		})
	}
	return refused
}

// 4096 requests may be without an answer, before the first connection and on one, or a mebibyte of them that the network has not taken.
func TestRequestsToHomeAreBounded(t *testing.T) {
	const most = 4096
	connected := func() *home { return &home{current: newLink(nil)} }
	for name, h := range map[string]*home{"before the first connection": {}, "on a connection": connected()} {
		if n := asked(h, most, "PING"); n != 0 {
			t.Errorf("%s: %d of %d are refused", name, n, most)
		}
		if n := asked(h, 3, "PING"); n != 3 {
			t.Errorf("%s: of 3 more, %d are refused", name, n)
		}
	}
	h, half := connected(), strings.Repeat("x", 1<<19)
	if n := asked(h, 2, half); n != 0 {
		t.Errorf("%d of half a mebibyte are refused", n)
	}
	if n := asked(h, 1, "PING"); n != 1 {
		t.Error("a request beyond a mebibyte is not refused")
	}
}

// 65,536 keys are in demand, and 4096 requests wait for one of them.
func TestKeysInDemandAreBounded(t *testing.T) {
	const keys, waiters = 65536, 4096
	u := &Upstream{keys: map[string]*key{}, home: &routes{first: &home{}}, stop: make(chan struct{})}
	for i := range keys {
		if u.keyOf([]byte(strconv.Itoa(i))) == nil {
			t.Fatalf("key %d has no place", i+1)
		}
	}
	if u.keyOf([]byte("more")) != nil || u.keyOf([]byte("0")) == nil {
		t.Error("another key has a place, or a known one has none")
	}
	request := func(key string) *acquire {
		limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1e9, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}
		return &acquire{op: engine.Op{Verb: engine.Acquire, Key: []byte(key), Limit: limit, Tokens: 1}, until: time.Now().Add(time.Hour), done: func() {}}
	}
	u.askBeyond(request("more"))
	if n := len(u.home.first.waiting); n != 1 {
		t.Errorf("%d requests for a key without a place go to home, want 1", n)
	}
	k := u.keyOf([]byte("0"))
	k.exchanging = true // an operation on the loan is under way
	k.demand.Ask(1e6)
	k.demand.Measure(measureOver, measureOver)
	k.began = time.Now().Add(time.Hour) // the demand stays as it is
	for range waiters {
		u.askBeyond(request("0"))
	}
	last := request("0")
	if u.askBeyond(last); len(k.waiters) != waiters || last.result.Status != engine.Overloaded {
		t.Errorf("%d requests wait, and the next one is answered %v", len(k.waiters), last.result.Status)
	}
}

// 256 operations on loans are under way with each node of home. Others wait until one ends, for as long as a request may take.
func TestExchangesAreBounded(t *testing.T) {
	const most = 256
	u := New(Options{Timeout: time.Millisecond, Addresses: []string{"127.0.0.1:0"}, Replicas: func() []Replica { return nil }, Log: slog.New(slog.DiscardHandler)})
	defer u.Close(t.Context())
	k, other := &key{name: "a"}, &key{name: "b"}
	hangs := u.home.move(slot.Of([]byte(k.name)), "127.0.0.1:0#1")
	if cap(hangs.slots) != most {
		t.Fatalf("%d have a place, want %d", cap(hangs.slots), most)
	}
	for range most {
		hangs.slots <- struct{}{}
	}
	if err := u.inTurn(k, func() error { return nil }); !errors.Is(err, errFull) {
		t.Errorf("one more: %v", err)
	}
	u.opt.Timeout = time.Hour
	if err := u.inTurn(other, func() error { return nil }); err != nil {
		t.Errorf("with another node: %v", err)
	}
	<-hangs.slots
	if err := u.inTurn(k, func() error { return nil }); err != nil || len(hangs.slots) != most-1 {
		t.Errorf("after the end of one: %v, and %d are under way", err, len(hangs.slots))
	}
}

// Connections to 64 nodes that home has named are kept; a key of another one stays with the first node.
func TestNamedNodesAreBounded(t *testing.T) {
	const most = 64
	u := New(Options{Timeout: time.Millisecond, Addresses: []string{"127.0.0.1:0"}, Replicas: func() []Replica { return nil }, Log: slog.New(slog.DiscardHandler)})
	defer u.Close(t.Context())
	for i := range most {
		if u.home.move(i, "127.0.0.1:0#"+strconv.Itoa(i)) == nil {
			t.Fatalf("node %d has no place", i+1)
		}
	}
	if u.home.move(most, "127.0.0.1:0") != nil || u.home.of(most) != u.home.first {
		t.Error("one more node has a place")
	}
}

// idlePurses are those of n keys, always in the same order.
type idlePurses int

func (n idlePurses) PurseCount() int64 { return int64(n) }

func (n idlePurses) Purses(visit func(key []byte, limit limits.Limit, t purse.Purse)) {
	for i := range int(n) {
		visit([]byte(strconv.Itoa(i)), limits.Limit{}, purse.Purse{})
	}
}

// Tokens that cannot be returned, of however many keys, hold up no others: each round goes on after the last.
func TestReturnsTakeTurns(t *testing.T) {
	const keys = 3*maxIdle + 1
	replica := Replica{Store: idlePurses(keys), Now: func() int64 { return int64(time.Hour) }, Leads: func() bool { return true }}
	u := &Upstream{opt: Options{Keys: []string{"*"}, Replicas: func() []Replica { return []Replica{replica} }}, keys: map[string]*key{}, home: &routes{first: &home{current: newLink(nil)}}, stop: make(chan struct{})}
	close(u.stop) // nothing begins
	passed := 0
	for range 4 {
		passed = u.returnUnused(int64(idleAfter), passed)
	}
	if len(u.keys) != keys || passed != 0 {
		t.Errorf("the tokens of %d of %d keys had their turn, and %d are passed next", len(u.keys), keys, passed)
	}
}
