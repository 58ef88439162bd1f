package main

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A server that runs out of file descriptors goes on answering those who are connected, and takes new clients as soon as
// others have left.
func TestTooFewFileDescriptors(t *testing.T) {
	const files, crowd = 64, 100
	v := startVictim(t, t.TempDir(), "interval")
	few := unix.Rlimit{Cur: files, Max: files}
	if err := unix.Prlimit(v.cmd.Process.Pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	early := ping(t, v)
	if !answersPing(early) {
		t.Fatal("it does not answer to begin with")
	}
	var conns []net.Conn
	for range crowd {
		conns = append(conns, ping(t, v))
	}
	answered := 0
	for _, c := range conns {
		if answersPing(c) {
			answered++
		}
	}
	if answered == 0 || answered > files {
		t.Errorf("%d of %d clients were answered with %d descriptors", answered, crowd, files)
	}
	if _, err := io.WriteString(early, "PING\r\n"); err != nil {
		t.Error(err)
	}
	_ = early.SetReadDeadline(time.Now().Add(20 * time.Second))
	if !answersPing(early) {
		t.Error("a client that was there before is not answered any more")
	}
	for _, c := range conns {
		c.Close()
	}
	for deadline := time.Now().Add(20 * time.Second); !answersPing(ping(t, v)); {
		if time.Now().After(deadline) {
			t.Fatal("it takes no clients although others have left")
		}
	}
	v.end(syscall.SIGTERM)
	if !v.cmd.ProcessState.Success() {
		t.Errorf("it ended with %v: %s", v.cmd.ProcessState, v.said)
	}
}

// ping asks on a connection of its own. A server that takes no clients leaves it without an answer: two seconds are given.
func ping(t *testing.T, v *victim) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(c, "PING\r\n") // it may have been turned away already
	return c
}

func answersPing(c net.Conn) bool {
	b := make([]byte, len("+PONG\r\n"))
	_, err := io.ReadFull(c, b)
	return err == nil && string(b) == "+PONG\r\n"
}
