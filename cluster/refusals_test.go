package cluster

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testlog"
)

func TestRefusalsAreBounded(t *testing.T) {
	var r refusals
	now := time.Unix(0, 0)
	from := func(host string, port int) net.Addr { return peerAddr(fmt.Sprintf("%s:%d", host, port)) }
	reset := func(port int) error {
		return &net.OpError{Op: "read", Addr: from("10.0.0.9", port), Err: errors.New("connection reset by peer")}
	}
	step := func(what string, after time.Duration, addr net.Addr, err error, want int) {
		t.Helper()
		now = now.Add(after)
		if got := r.note(addr, err, now); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	wrong := errors.New("from node b#1: this is node c#2, not c#1")
	step("the first", 0, from("10.0.0.1", 4001), wrong, 1)
	step("again, from another port", time.Second, from("10.0.0.1", 4002), wrong, 0)
	step("another reason", time.Second, from("10.0.0.1", 4003), errors.New("from node b#1: withdrawn"), 1)
	step("another host", time.Second, from("10.0.0.2", 4001), wrong, 1)
	step("a reset", 0, from("10.0.0.9", 1), reset(1), 1)
	step("a reset of another port", 0, from("10.0.0.9", 2), reset(2), 0)
	step("just before the minute is over", 57*time.Second-1, from("10.0.0.1", 4004), wrong, 0)
	step("a minute later, with those in between", 1, from("10.0.0.1", 4005), wrong, 3)
	step("and they are counted once", refusalPeriod, from("10.0.0.1", 4006), wrong, 1)

	logged := 0
	for i := range 10_000 {
		if r.note(from(fmt.Sprintf("10.1.%d.%d", i/256, i%256), 4001), wrong, now) > 0 {
			logged++
		}
	}
	if logged > maxRefusals || len(r.seen) > maxRefusals+1 {
		t.Errorf("10000 hosts at once: %d lines, %d kept", logged, len(r.seen))
	}
	step("a minute later there is room again", refusalPeriod, from("10.2.0.1", 4001), wrong, 1)
}

// A node that still calls for the incarnation another was before it was wiped is refused each time, which is logged once
// a minute.
func TestCallsForAWipedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, log := newMemNet(), &testlog.Log{}
		node := func(address string, id raft.ServerID, expects raft.ServerID) *peers {
			p := &peers{network: net.of(address), address: address, log: log.Logger(), known: func(string) raft.ServerID { return expects },
				hello: func(to raft.ServerID) greeting { return greeting{From: id, To: to, Cluster: "ours"} }}
			if err := p.listen(address); err != nil {
				t.Fatal(err)
			}
			p.ended.Go(p.run)
			return p
		}
		wiped, caller := node("c", "c#1", ""), node("a", "a#0", "c#0")
		defer wiped.halt()
		defer caller.halt()
		const every = 20 * time.Millisecond
		for range refusalPeriod/every + 1 {
			if conn, _, err := caller.dial(t.Context(), "c", forRaft); err == nil {
				_ = conn.Close()
				t.Fatal("not refused")
			}
			time.Sleep(every)
		}
		synctest.Wait()
		const line = "refused a connection on the cluster's port"
		if n := log.Count(line); n != 2 || !log.Has("times=1\n") || !log.Has("times=3000\n") {
			t.Errorf("logged %d times:\n%s", n, log)
		}
	})
}
