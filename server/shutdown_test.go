package server

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// newNode makes a server that is a node of a cluster.
func newNode(t *testing.T, grace time.Duration) *testHost {
	h := newHost(t, nil)
	h.env.Cluster = &fakeCluster{status: threeNodes("b")}
	cfg := *h.Config()
	cfg.ShutdownGrace = grace
	h.settings.Store(&cfg)
	return h
}

// A node that shuts down is not ready from then on, and refuses new connections. It still answers clients that are
// connected until the grace is over: a connection closes just after a limiter command on it has been answered, so that
// a client that waits for its replies loses nothing; the commands with which a client introduces itself come before.
func TestEndingNodeAnswers(t *testing.T) {
	h := newNode(t, time.Minute)
	stop := h.start(t)
	early, busy, idle, late, pipelining, fresh := h.dial(t), h.dial(t), h.dial(t), h.dial(t), h.dial(t), h.dial(t)
	for _, c := range []*net.TCPConn{early, busy, idle, late, pipelining, fresh} {
		expect(t, c, frames("PING"), "+PONG\r\n")
	}
	h.handLeadership = func(context.Context) error {
		if err := h.Ready(); !errors.Is(err, errDraining) {
			t.Errorf("while it hands over it is ready: %v", err)
		}
		if conn, err := net.Dial("tcp", h.addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("while it hands over a new client gets %v, %v", conn, err)
		}
		expect(t, early, frames("CL.THROTTLE k 9 1 60"), "*5\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:60\r\n")
		return nil
	}
	if err := h.Ready(); err != nil {
		t.Errorf("before it ends: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	eventually(t, "connections part", h.env.ClosingAfterReply.Load)

	expect(t, busy, frames("PING"), "+PONG\r\n")
	expect(t, busy, frames("CL.THROTTLE k 9 1 60"), "*5\r\n:0\r\n:10\r\n:8\r\n:-1\r\n:120\r\n")
	wantClosed(t, busy, "")
	expect(t, pipelining, frames("CL.THROTTLE k 9 1 60", "PING", "CL.THROTTLE k 9 1 60"),
		"*5\r\n:0\r\n:10\r\n:7\r\n:-1\r\n:180\r\n+PONG\r\n*5\r\n:0\r\n:10\r\n:6\r\n:-1\r\n:240\r\n")
	wantClosed(t, pipelining, "")

	expect(t, fresh, frames("CLIENT SETNAME me"), "+OK\r\n")
	expect(t, fresh, frames("CL.THROTTLE k 9 1 60"), "*5\r\n:0\r\n:10\r\n:5\r\n:-1\r\n:300\r\n")
	wantClosed(t, fresh, "")

	h.clock.Advance(time.Minute - 1)
	expect(t, late, frames("CL.THROTTLE j 9 1 60"), "*5\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:60\r\n")
	wantClosed(t, late, "")
	expect(t, idle, frames("PING"), "+PONG\r\n")
	h.clock.Advance(1)
	wantClosed(t, idle, "")
	wantClosed(t, early, "")
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// A reply that is held back for its time comes before the connection closes.
func TestEndingNodeHoldsReplies(t *testing.T) {
	h := newNode(t, time.Minute)
	stop := h.start(t)
	waiting := h.dial(t)
	expect(t, waiting, frames("PING"), "+PONG\r\n")
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	eventually(t, "connections part", h.env.ClosingAfterReply.Load)
	expect(t, waiting, frames("PING", "TB.ACQUIRE k 1 1/s 2 BLOCK 1s"), "+PONG\r\n")
	eventually(t, "it waits", func() bool { return h.env.WaitQueue.Len() == 1 })
	h.clock.Advance(time.Second)
	wantClosed(t, waiting, "*5\r\n:2\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// Nobody waits for the end of the grace: not a node without connections, not one told SHUTDOWN NOW, not a server alone.
func TestGraceNotNeeded(t *testing.T) {
	for _, name := range []string{"no connections", "now", "alone"} {
		h := newNode(t, time.Hour)
		if name == "alone" {
			h.env.Cluster = nil
		}
		stop := h.start(t)
		if name != "no connections" {
			conn := h.dial(t)
			expect(t, conn, frames("PING"), "+PONG\r\n")
		}
		if name == "now" {
			h.Shutdown(true, false)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
