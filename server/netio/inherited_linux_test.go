package netio

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// Idle connections are checked alike, whether the server or systemd has opened the socket.
func TestKeepAlive(t *testing.T) {
	own, err := listenOn("tcp", "127.0.0.1:0", "--listen")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	file, err := own.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	passed, err := listenOnFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer passed.Close()
	for name, ln := range map[string]net.Listener{"own": own, "passed": passed} {
		client, err := net.Dial("tcp", own.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) {
			idle, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
			if got := time.Duration(idle) * time.Second; got != keepAliveIdle || err != nil {
				t.Errorf("%s socket: %v, %v", name, got, err)
			}
		})
		conn.Close()
		client.Close()
	}
}
