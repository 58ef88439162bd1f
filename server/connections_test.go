package server

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
)

// wantClosed reads to the end of a connection and wants nothing but rest before it.
func wantClosed(t testing.TB, conn io.Reader, rest string) {
	t.Helper()
	got, err := io.ReadAll(conn)
	if string(got) != rest || err != nil && !gone(err) {
		t.Fatalf("before the end came %q (%v), want %q", got, err, rest)
	}
}

func TestMaxClients(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.MaxClients = 2 })
	first, second := h.dial(t), h.dial(t)
	expect(t, first, frames("PING"), "+PONG\r\n")
	expect(t, second, frames("PING"), "+PONG\r\n")
	wantClosed(t, h.dial(t), "-ERR max number of clients reached\r\n")
	expect(t, first, frames("PING"), "+PONG\r\n")

	second.Close()
	eventually(t, "there is room", func() bool { return h.env.Registry.Count() == 1 })
	expect(t, h.dial(t), frames("PING", "CONFIG SET max-clients 1"), "+PONG\r\n+OK\r\n")
	wantClosed(t, h.dial(t), "-ERR max number of clients reached\r\n") // and the connected clients stay
	expect(t, first, frames("PING"), "+PONG\r\n")
	if n := h.env.Stats.Rejected.Load(); n != 2 {
		t.Errorf("%d connections are counted as rejected, want 2", n)
	}
}

// Replies larger than one write come whole and in order. The buffers hold all of them: the writer may be far ahead of the reader.
func TestLargePipeline(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.OutputBufferBytes, c.QueryBufferBytes = 64<<20, 64<<20 })
	conn := h.dial(t)
	const count, size = 500, 20_000
	go func() {
		for i := range count {
			_, _ = conn.Write(frame("ECHO", strings.Repeat(string(rune('a'+i%26)), size)))
		}
	}()
	r := bufio.NewReader(conn)
	for i := range count {
		want := "$20000\r\n" + strings.Repeat(string(rune('a'+i%26)), size) + "\r\n"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Fatalf("reply %d: %.50q (%v)", i, got, err)
		}
	}
}

// At shutdown all commands read are answered, blocked replies included, before the connection is closed.
func TestDrain(t *testing.T) {
	h, stop := serveUntil(t)
	idle, waiting := h.dial(t), h.dial(t)
	expect(t, idle, frames("PING"), "+PONG\r\n")
	expect(t, waiting, frames("PING", "TB.ACQUIRE k 1 1/s 2 BLOCK 1s", "PING", "GET x"), "+PONG\r\n")
	eventually(t, "it waits", func() bool { return h.env.WaitQueue.Len() == 1 })

	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	wantClosed(t, idle, "")
	wantClosed(t, h.dialOrGone(t), "")
	h.clock.Advance(time.Second)
	wantClosed(t, waiting, "*5\r\n:2\r\n:1\r\n:0\r\n:0\r\n:1000\r\n+PONG\r\n$-1\r\n")
	if err := <-ended; err != nil {
		t.Errorf("the shutdown ends with %v", err)
	}
}

// dialOrGone connects to a server that may have stopped listening.
func (h *testHost) dialOrGone(t testing.TB) io.Reader {
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		return strings.NewReader("")
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestDrainTimeout(t *testing.T) {
	h, stop := serveUntil(t, func(c *config.Config) { c.ShutdownTimeout = time.Minute })
	conn := h.dial(t)
	expect(t, conn, frames("PING", "TB.ACQUIRE k 1 1/s 2 BLOCK 1s", "TB.ACQUIRE j 1 1/h 2 BLOCK 2h"), "+PONG\r\n")
	eventually(t, "it waits", func() bool { return h.env.WaitQueue.Len() == 1 })
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	eventually(t, "it drains", h.env.Draining.Load)
	h.clock.Advance(59 * time.Second)
	expect(t, conn, nil, "*5\r\n:2\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
	eventually(t, "it waits again", func() bool { return h.env.WaitQueue.Len() == 1 })
	h.clock.Advance(time.Second)
	wantClosed(t, conn, "")
	if err := <-ended; err != nil {
		t.Errorf("the shutdown ends with %v", err)
	}
}

// SHUTDOWN NOW does not wait for blocked clients.
func TestShutdownNow(t *testing.T) {
	h, stop := serveUntil(t, func(c *config.Config) { c.ShutdownTimeout = time.Hour })
	waiting, other := h.dial(t), h.dial(t)
	expect(t, waiting, frames("PING", "TB.ACQUIRE k 1 1/h", "TB.ACQUIRE k 1 1/h BLOCK 2h"), "+PONG\r\n*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:3600000\r\n")
	eventually(t, "it waits", func() bool { return h.env.WaitQueue.Len() == 1 })
	if _, err := other.Write(frames("SHUTDOWN NOW")); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, waiting, "")
	if err := stop(); err != nil {
		t.Errorf("the shutdown ends with %v", err)
	}
}

func TestShutdownCommand(t *testing.T) {
	h, stop := serveUntil(t)
	first, second := h.dial(t), h.dial(t)
	expect(t, first, frames("PING"), "+PONG\r\n")
	if _, err := second.Write(frames("PING", "SHUTDOWN NOSAVE", "PING")); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, second, "+PONG\r\n")
	wantClosed(t, first, "")
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stint.sock")
	h := serve(t, func(c *config.Config) { c.Listen = append(c.Listen, "unix:"+path) })
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	expect(t, conn, frames("TB.ACQUIRE k 1 1/s", "CLIENT KILL TYPE normal"), "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n")
	expect(t, h.dial(t), frames("TB.ACQUIRE k 1 1/s"), "*5\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n")
}

// The error for an address that cannot be used names the remedy.
func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	other, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for address, want := range map[string]string{
		taken.Addr().String(): "the address is in use, perhaps by Redis or another Stint; stop that one, or choose another address with --listen",
		"192.0.2.1:1":         "choose another address with --listen",
		"unix:" + file:        "a file that is not a socket is in the way; move it or choose another path with --listen",
		"unix:" + socket:      "another server answers there; stop it or choose another path with --listen",
		"unix:/nowhere/s":     "choose another address with --listen",
	} {
		h := newHost(t, nil, func(c *config.Config) { c.Listen = []string{address} })
		err := h.Serve(t.Context(), func([]string) { t.Errorf("%s: is ready", address) })
		if err == nil || !strings.HasPrefix(err.Error(), "cannot listen on "+address) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v\nwant …%s", address, err, want)
		}
	}
}

// The socket file of a server that was killed is no obstacle.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stint.sock")
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	serve(t, func(c *config.Config) { c.Listen = append(c.Listen, "unix:"+path) })
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	expect(t, conn, frames("PING"), "+PONG\r\n")
}
