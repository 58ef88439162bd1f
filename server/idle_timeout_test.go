package server

import (
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
)

func TestIdleTimeout(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.IdleTimeout = 5 * time.Minute })
	idle, waiting, busy := h.dial(t), h.dial(t), h.dial(t)
	expect(t, idle, frames("PING"), "+PONG\r\n")
	expect(t, waiting, frames("TB.ACQUIRE k 1 1/m", "TB.ACQUIRE k 1 1/h BLOCK 1h"), "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:60000\r\n")
	eventually(t, "it waits", func() bool { return h.env.WaitQueue.Len() == 1 })
	h.clock.Advance(4 * time.Minute)
	expect(t, busy, frames("PING"), "+PONG\r\n")
	h.env.Registry.CloseIdle()
	expect(t, busy, frames("CLIENT KILL ID 99"), ":0\r\n")

	h.clock.Advance(2 * time.Minute)
	wantClosed(t, idle, "")
	expect(t, busy, frames("PING"), "+PONG\r\n")

	// The one that was made to wait was not idle. Its time counts from the reply.
	h.clock.Advance(4 * time.Minute)
	h.clock.Advance(50 * time.Minute)
	expect(t, waiting, nil, "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n")
	h.env.Registry.CloseIdle()
	expect(t, waiting, frames("PING"), "+PONG\r\n")
	h.clock.Advance(6 * time.Minute)
	wantClosed(t, waiting, "")
}

// A login that waits for its turn is not idle, and CLIENT LIST shows that it waits.
func TestIdleTimeoutWaitingLogin(t *testing.T) {
	p := newLoginPlayer(t, func(c *config.Config) { c.FailedLogins, c.IdleTimeout = 10, 2*time.Second })
	const name = "203.0.113.7:1"
	c := p.open(name)
	for range 10 {
		c.deliver(frames("AUTH wrong"))
	}
	c.reply(t)
	c.deliver(frames("AUTH tea")) // there is a token in 6 seconds
	if flags := p.fields(t, name)["flags"]; flags != "b" {
		t.Errorf("while it waits: flags=%s, want b", flags)
	}
	p.Advance(3 * time.Second)
	p.env.Registry.CloseIdle()
	p.Advance(3 * time.Second)
	if got := c.reply(t); got != "+OK\r\n" || c.closed {
		t.Fatalf("when its turn has come: %q, closed: %t", got, c.closed)
	}
	if flags := p.fields(t, name)["flags"]; flags != "N" {
		t.Errorf("after the reply: flags=%s, want N", flags)
	}
	p.env.Registry.CloseIdle()
	p.settle()
	if c.closed {
		t.Error("closed as idle right after its reply")
	}
	p.Advance(3 * time.Second)
	p.env.Registry.CloseIdle()
	if p.settle(); !c.closed {
		t.Error("not closed when it was idle")
	}
}

// A request that other nodes have not decided yet is not idle.
func TestIdleTimeoutWaitingDecision(t *testing.T) {
	var later *laterLocal
	h := newHost(t, func(l *decider.Local) decider.Decider { later = &laterLocal{Local: l}; return later },
		func(c *config.Config) { c.IdleTimeout = 2 * time.Second })
	p := &sessionPlayer{testHost: h, conns: map[string]*pipe{}}
	c := p.open("a")
	c.deliver(frames("TB.ACQUIRE k 1 1/m"))
	p.Advance(3 * time.Second)
	p.env.Registry.CloseIdle()
	p.settle()
	later.finish()
	p.settle()
	p.env.Registry.CloseIdle()
	p.settle()
	if got := c.reply(t); got != "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:60000\r\n" || c.closed {
		t.Errorf("%q, closed: %t", got, c.closed)
	}
}
