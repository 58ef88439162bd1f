package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/loans"
)

// asked sends requests to home, and returns how many are refused because too many are under way.
func asked(h *home, n int, words ...string) (refused int) {
	for range n {
		h.send(time.Hour, words, func(_ reply, err error) {
			if errors.Is(err, errFull) || errors.Is(err, errNotSent) {
				refused++
			}
		})
	}
	return refused
}

// Before the first connection and on a connection, 4096 requests may wait for an answer, and a mebibyte of requests may
// wait for the network.
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

// A home whose addresses accept connections and close them at once is not asked without a pause.
func TestHomeThatClosesConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 30
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		attempts := 0
		h := &home{addresses: []string{"a", "b"}, log: slog.New(slog.DiscardHandler)}
		h.dial = func(context.Context, string) (net.Conn, error) {
			if attempts++; attempts > most {
				cancel()
			}
			conn, other := net.Pipe()
			go func() {
				defer other.Close()
				_, _ = other.Read(make([]byte, 64))
				_, _ = other.Write([]byte("+PONG\r\n"))
			}()
			return conn, nil
		}
		h.run(ctx)
		if attempts > most || attempts < 4 {
			t.Errorf("%d connections in 10 seconds", attempts)
		}
	})
}

// held is a decider that answers operations as if there were no leader, once it is released.
type held chan struct{}

func (h held) Decide(b *engine.Batch) (finished bool) {
	go func() {
		<-h
		for i := range b.Results {
			b.Results[i] = engine.Result{Status: engine.NoLeader}
		}
		b.Done()
	}()
	return false
}

// 65,536 keys are in demand, and 4096 requests wait for one of them.
func TestKeysInDemandAreBounded(t *testing.T) {
	synctest.Test(t, keysInDemandAreBounded)
}

// keysInDemandAreBounded is in a bubble, where no key is forgotten meanwhile.
func keysInDemandAreBounded(t *testing.T) {
	const keys, waiters = 65536, 4096
	decider := make(held)
	u := &Upstream{home: &routes{first: &home{}}, turns: loans.NewTurns()}
	u.opt = Options{
		Timeout: time.Hour, Decider: decider,
		Replicas: func() []Replica { return nil }, Holder: func() string { return "region" },
	}
	ctx, cancel := context.WithCancel(t.Context())
	u.keeper = loans.New(ctx, u.loans())
	defer u.keeper.Close()
	defer cancel()
	defer close(decider)
	for i := range keys {
		if u.keeper.Key(here, []byte(strconv.Itoa(i))) == nil {
			t.Fatalf("key %d has no place", i+1)
		}
	}
	if u.keeper.Key(here, []byte("more")) != nil || u.keeper.Key(here, []byte("0")) == nil {
		t.Error("another key has a place, or a known one has none")
	}
	request := func(key string) *acquire {
		limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1e9, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}
		op := engine.Op{Verb: engine.Acquire, Key: []byte(key), Limit: limit, Tokens: 1}
		return &acquire{u: u, op: op, until: time.Now().Add(time.Hour), result: new(engine.Result), done: func() {}}
	}
	request("more").askBeyond(0)
	if n := len(u.home.first.waiting); n != 1 {
		t.Errorf("%d requests for a key without a place go to home, want 1", n)
	}
	k := u.keeper.Key(here, []byte("0"))
	k.Granted(time.Now().Add(time.Minute), request("0").op.Limit, 1e6, 1e6) // the demand stays as it is for a minute
	first := request("0")
	first.askBeyond(0) // an operation on the loan is under way from now on
	for range waiters - 1 {
		request("0").askBeyond(0)
	}
	last := request("0")
	if last.askBeyond(0); first.result.Status != engine.OK || last.result.Status != engine.Overloaded {
		t.Errorf("the first of %d requests is answered %v, and one more %v", waiters, first.result.Status, last.result.Status)
	}
	if n := len(u.home.first.waiting); n != 1 {
		t.Errorf("%d requests went to home instead of waiting", n-1)
	}
}

// 256 operations on loans are under way with each node of home: one that hangs holds up no operations with another.
func TestExchangesAreBounded(t *testing.T) {
	const most = 256
	u := New(Options{Timeout: time.Millisecond, Addresses: []string{"127.0.0.1:0"}, Replicas: func() []Replica { return nil }, Log: slog.New(slog.DiscardHandler)})
	defer u.Close(t.Context())
	hangs := u.home.move(slot.Of([]byte("a")), "127.0.0.1:0#1")
	if got := u.loans().HomeTurns([]byte("a")); got != hangs.turns || cap(got) != most {
		t.Errorf("%d have a place with the node that hangs, want %d", cap(got), most)
	}
	if got := u.loans().HomeTurns([]byte("b")); got != u.home.first.turns || got == hangs.turns {
		t.Error("another node has the same places")
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
