package server

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/gateway"
)

// lines is a service whose requests are lines: the words of a command, behind NAME:PASSWORD if the line has a colon.
type lines struct {
	listener net.Listener
	gateway  *gateway.Gateway
	serving  sync.WaitGroup
}

// Start implements gateway.Service.
func (l *lines) Start(g *gateway.Gateway) (addresses []string, err error) {
	all, _, err := g.Listen(gateway.Addresses{All: []string{"127.0.0.1:0"}})
	if err != nil {
		return nil, err
	}
	l.listener, l.gateway = all[0], g
	l.serving.Go(func() {
		for {
			c, err := l.listener.Accept()
			if err != nil {
				return
			}
			l.serving.Go(func() { l.serve(gateway.ConnOf(c)) })
		}
	})
	return []string{l.listener.Addr().String()}, nil
}

// Stop implements gateway.Service.
func (l *lines) Stop(context.Context) { _ = l.listener.Close() }

func (l *lines) serve(c *gateway.Conn) {
	defer c.Close()
	for in := make([]byte, 4096); ; {
		n, err := c.Read(in)
		if err != nil {
			return
		}
		_, _ = c.Write(append(l.answer(c, strings.Fields(string(in[:n]))), '\n'))
	}
}

func (l *lines) answer(c *gateway.Conn, words []string) []byte {
	var user *acl.User
	var err error
	if name, password, found := strings.Cut(words[0], ":"); found {
		user, err = c.Login(context.Background(), name, password)
		words = words[1:]
	} else {
		user, err = c.DefaultUser()
	}
	if err != nil {
		return []byte(err.Error())
	}
	w := command.AsWritten(bytesOf(words)...)
	reply, err := l.gateway.Do(context.Background(), gateway.Caller{User: user, Address: c.Address()}, &w)
	if err != nil {
		return []byte(err.Error())
	}
	return reply.Raw
}

// written is a command as a client writes it.
func written(line string) command.Words { return command.AsWritten(bytesOf(strings.Fields(line))...) }

// ask sends a line and returns the answer to it.
func ask(t *testing.T, c net.Conn, line string) string {
	t.Helper()
	if _, err := io.WriteString(c, line); err != nil {
		t.Fatal(err)
	}
	in := make([]byte, 4096)
	n, err := c.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(in[:n]), "\n")
}

func serveLines(t *testing.T, set ...func(*config.Config)) (h *testHost, service *lines) {
	service = &lines{}
	h = newHost(t, nil, set...)
	h.services = []gateway.Service{service}
	stop := h.start(t)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		service.serving.Wait()
	})
	return h, service
}

// Commands that come by another protocol are those of their user, and are counted like all others.
func TestServiceCommands(t *testing.T) {
	h, service := serveLines(t)
	h.addr = service.listener.Addr().String()
	c := h.dial(t)
	for _, step := range []struct{ send, want string }{
		{"TB.ACQUIRE k 1 1/h", "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n"},
		{"TB.ACQUIRE k 1 1/h", "*5\r\n:0\r\n:1\r\n:0\r\n:3600000\r\n:3600000\r\n"},
		{"ACL SETUSER alice on >secret ~alice:* +@all", "+OK\r\n"},
		{"alice:secret ECHO x", "$1\r\nx\r\n"},
		{"alice:secret GET bob:1", ""},
		{"alice:wrong ECHO x", gateway.ErrWrongLogin.Error()},
		{"SUBSCRIBE c", ""},
		{"MONITOR", ""},
		{"CLIENT REPLY OFF", ""},
		{"NOSUCH", ""},
	} {
		got := ask(t, c, step.send)
		if step.want != "" && got != step.want {
			t.Errorf("%s: got %q, not %q", step.send, got, step.want)
		}
	}
	if got := ask(t, c, "CLIENT LIST"); !strings.Contains(got, "user=alice") || strings.Count(got, "id=") != 1 {
		t.Errorf("CLIENT LIST: %s", got)
	}
	if got := ask(t, c, "RL.TOP"); !strings.Contains(got, "\r\nk\r\n") {
		t.Errorf("RL.TOP: %q", got)
	}
	if got := ask(t, c, "INFO commandstats"); !strings.Contains(got, "cmdstat_tb.acquire:calls=2") {
		t.Errorf("INFO: %s", got)
	}
	if n := h.env.Registry.Kill(func(command.ClientInfo) bool { return true }); n != 1 {
		t.Errorf("%d connections", n)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection that was killed stays open")
	}
}

// A request that ends while its reply waits takes nothing.
func TestServiceGivesUp(t *testing.T) {
	h, service := serveLines(t)
	g := service.gateway
	caller := gateway.Caller{User: h.env.Users.Default(), Address: "1.2.3.4:5"}
	take := written("TB.ACQUIRE k 1 1/h 1 BLOCK 2h")
	if reply, err := g.Do(context.Background(), caller, &take); err != nil || reply.Type != redcon.Array {
		t.Fatal(reply, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := g.Do(ctx, caller, &take)
		ended <- err
	}()
	eventually(t, "the reply waits", func() bool { return h.env.WaitQueue.Len() == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	peek := written("TB.ACQUIRE k 1 1/h 1 PEEK")
	reply, err := g.Do(context.Background(), caller, &peek)
	if err != nil || !strings.HasPrefix(string(reply.Raw), "*5\r\n:0\r\n:1\r\n:0\r\n:3600000\r\n") {
		t.Errorf("%q %v: one token of the two should have come back", reply.Raw, err)
	}
}

// A pipeline is answered as a whole, transactions and more work than a turn may do among it.
func TestServicePipeline(t *testing.T) {
	h, service := serveLines(t)
	caller := gateway.Caller{User: h.env.Users.Default(), Address: "1.2.3.4:5"}
	commands := []command.Words{written("MULTI"), written("INCR n"), written("EXEC")}
	for range 5000 {
		commands = append(commands, written("INCR n"), written("ECHO x"))
	}
	replies, err := service.gateway.DoAll(context.Background(), caller, commands...)
	if err != nil || len(replies) != len(commands) || replies[len(replies)-2].Int() != 5001 {
		t.Fatal(len(replies), err)
	}
	h.env.Settings.Load().OutputBufferBytes = 1 << 10
	if _, err := service.gateway.DoAll(context.Background(), caller, commands...); !errors.Is(err, conn.ErrRepliesTooBig) {
		t.Error(err)
	}
}

// Connections of services are within the bounds of all.
func TestServiceConnectionsAreBounded(t *testing.T) {
	h, service := serveLines(t, func(c *config.Config) { c.MaxClients = 2 })
	h.addr = service.listener.Addr().String()
	for range 2 {
		ask(t, h.dial(t), "PING")
	}
	third := h.dial(t)
	_, _ = io.WriteString(third, "PING")
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Error("a third connection is served")
	}
}

// A node of a cluster that redirects clients of RESP forwards the requests of others, which cannot follow, transactions
// among them.
func TestServiceIsNeverRedirected(t *testing.T) {
	p := newClusterPlayer(t, &fakeCluster{status: threeNodes("b"), moved: true})
	if got, _ := p.Do("c", bytesOf([]string{"INCR", "n"}), ""); !strings.HasPrefix(got, "-MOVED ") {
		t.Fatalf("a connection: %s", got)
	}
	caller := gateway.Caller{User: p.env.Users.Default(), Address: "1.2.3.4:5"}
	replies, err := p.gateway.DoAll(context.Background(), caller, written("INCR n"), written("MULTI"), written("INCR n"), written("EXEC"))
	if err != nil || len(replies) != 4 || replies[0].Int() != 1 || string(replies[3].Raw) != "*1\r\n:2\r\n" {
		t.Errorf("%q, %v", replies, err)
	}
}
