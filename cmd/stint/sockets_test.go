//go:build e2e && unix

package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// A server takes the sockets of systemd on its addresses, with the connections that wait there, and leaves them when it
// ends. It refuses a socket on an address that it does not have.
func TestSocketsOfSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	tcp, unix := listenerFile(t, "tcp", "127.0.0.1:0"), listenerFile(t, "unix", path)
	address := tcp.Name()
	start := func(listen ...string) *testserver.Process {
		args := append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, os.Args[0], "server", "--admin="}, listen...)
		p := testserver.NewProcess(t, "/bin/sh", args...)
		p.Env, p.Files = append(os.Environ(), asServer+"=1", "LISTEN_FDS=2"), []*os.File{tcp, unix}
		p.Start(t)
		return p
	}
	for range 2 {
		var waiting []net.Conn
		for network, at := range map[string]string{"tcp": address, "unix": path} {
			conn, err := net.Dial(network, at)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "PING\r\nQUIT\r\n")
			waiting = append(waiting, conn)
		}
		p := start("--listen="+address, "--listen=unix:"+path)
		for _, conn := range waiting {
			if got, err := io.ReadAll(conn); !strings.HasPrefix(string(got), "+PONG\r\n") {
				t.Errorf("%s: %q, %v", conn.RemoteAddr(), got, err)
			}
		}
		if err := p.End(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	p := start("--listen=" + address)
	testwait.Until(t, "it has ended", func() bool { is, _ := p.Running(); return !is })
	if !strings.Contains(p.LastLines(), "systemd has passed a socket on unix:"+path+", but no setting listens there") {
		t.Errorf("a socket without an address: %s", p.LastLines())
	}
}

// listenerFile listens, and returns the socket as a file with the name of its address.
func listenerFile(t *testing.T, network, at string) *os.File {
	t.Helper()
	ln, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	conn, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var fd int
	if err := conn.Control(func(of uintptr) { fd, err = syscall.Dup(int(of)) }); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), ln.Addr().String())
}
