package server

import (
	"io"
	"strings"
	"testing"
)

// expectReply executes commands on a connection and compares the replies, which are empty while a pause holds them.
func (p *sessionPlayer) expectReply(t *testing.T, name, want string, commands ...string) {
	t.Helper()
	if got := p.do(t, name, commands...); got != want {
		t.Errorf("%s: %q\nreply %q\nwant  %q", name, commands, got, want)
	}
}

// CLIENT PAUSE holds commands back without losing any, and in their order.
func TestPauseHoldsCommands(t *testing.T) {
	const ok, queued, null = "+OK\r\n", "+QUEUED\r\n", "$-1\r\n"
	t.Run("writes", func(t *testing.T) {
		p := newSessionPlayer(t, 0)
		p.expectReply(t, "queued", ok+queued, "MULTI", "SET c 1")
		p.expectReply(t, "operator", ok, "CLIENT PAUSE 1000000 WRITE")
		p.expectReply(t, "writer", null+"+PONG\r\n", "GET a", "PING", "SET a 1", "GET a", "PING")
		p.expectReply(t, "queued", "", "EXEC")
		p.expectReply(t, "publisher", "", "PUBLISH news 1")
		p.expectReply(t, "limiter", "", "TB.ACQUIRE k 5 1/1s")
		p.expectReply(t, "script", "", "EVAL return(1) 0")
		p.expectReply(t, "reader", null+"*0\r\n", "GET a", "KEYS *")
		if list := p.do(t, "operator", "CLIENT LIST"); strings.Count(list, " flags=b ") != 4 || !strings.Contains(list, " flags=bx ") && !strings.Contains(list, " flags=xb ") {
			t.Errorf("%s", list)
		}
		p.expectReply(t, "operator", ok, "CLIENT UNPAUSE")
		for name, want := range map[string]string{
			"writer": ok + "$1\r\n1\r\n+PONG\r\n", "queued": "*1\r\n" + ok, "publisher": ":0\r\n", "script": ":1\r\n",
		} {
			if sent := p.conns[name].sent.String(); !strings.HasSuffix(sent, want) {
				t.Errorf("%s was sent %q, want …%q", name, sent, want)
			}
		}
	})
	t.Run("all", func(t *testing.T) {
		p := newSessionPlayer(t, 0)
		p.expectReply(t, "operator", ok, "CLIENT PAUSE 1000000")
		p.expectReply(t, "client", "", "PING")
		p.expectReply(t, "left", "", "SET a 1")
		p.conns["left"].hangUp()
		p.expectReply(t, "other operator", ok, "CLIENT UNPAUSE")
		p.expectReply(t, "client", "+PONG\r\n", "PING")
		p.expectReply(t, "client", null, "GET a")
	})
}

// A pause ends by itself. A shorter one does not shorten it, and one of writes does not weaken one of all commands.
func TestPauseEndsByItself(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "operator", "CLIENT PAUSE 200")
	p.do(t, "client", "PING")
	p.expectReply(t, "other operator", "", "CLIENT PAUSE 1 WRITE")
	if sent := p.conns["client"].sent.String(); sent != "" {
		t.Errorf("%q before the end of the pause", sent)
	}
	eventually(t, "the pause is over", func() bool {
		p.settle()
		return p.conns["client"].sent.String() == "+PONG\r\n"
	})
}

// A server that shuts down executes what it has received.
func TestPauseEndsWithTheServer(t *testing.T) {
	h, stop := serveUntil(t)
	conn := h.dial(t)
	if _, err := conn.Write(frames("CLIENT PAUSE 9223372036854775807", "PING")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command is held", func() bool { return strings.Contains(h.ClientLine(1), " flags=b ") })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if replies, _ := io.ReadAll(conn); string(replies) != "+OK\r\n+PONG\r\n" {
		t.Errorf("%q", replies)
	}
}
