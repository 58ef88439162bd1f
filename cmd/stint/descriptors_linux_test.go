//go:build e2e

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/config"
)

// A server that runs out of file descriptors continues to answer connected clients, and accepts new clients as soon as
// others have left.
func TestTooFewFileDescriptors(t *testing.T) {
	const files, crowd = 64, 100
	v := startVictim(t, t.TempDir(), "interval")
	few := unix.Rlimit{Cur: files, Max: files}
	if err := unix.Prlimit(v.Pid(), unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	early := ping(t, v)
	_ = early.SetReadDeadline(testwait.Deadline())
	if !answersPing(early) {
		t.Fatal("it does not answer to begin with")
	}
	var conns []net.Conn
	for range crowd {
		conns = append(conns, ping(t, v))
	}
	_ = conns[0].SetReadDeadline(testwait.Deadline()) // there is room for it
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
	_ = early.SetReadDeadline(testwait.Deadline())
	if !answersPing(early) {
		t.Error("a client that was there before is not answered any more")
	}
	for _, c := range conns {
		c.Close()
	}
	testwait.Until(t, "it takes clients again, since others have left", func() bool { return answersPing(ping(t, v)) })
	v.end(syscall.SIGTERM)
	if _, state := v.Running(); !state.Success() {
		t.Errorf("it ended with %v: %s", state, v.LastLines())
	}
}

// ping asks on a separate connection. It waits two seconds for an answer, because a server that accepts no clients does
// not answer.
func ping(t *testing.T, v *victim) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(c, "PING\r\n") // it may have been refused already
	return c
}

func answersPing(c net.Conn) bool {
	b := make([]byte, len("+PONG\r\n"))
	_, err := io.ReadFull(c, b)
	return err == nil && string(b) == "+PONG\r\n"
}

// limited is a program that runs this test's program as a server with the given number of file descriptors.
func limited(t *testing.T, files int) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "limited")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d\nexport %s=1\nexec '%s' \"$@\"\n", files, asServer, os.Args[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// Idle clients on every node, more than it accepts, leave descriptors for a failover.
func TestIdleClientsLeaveDescriptors(t *testing.T) {
	const files, idle = 200, 400
	nodes := testserver.StartCluster(t, limited(t, files), 3)
	conns := make([]*wire, len(nodes))
	for i, node := range nodes {
		c, err := dialVictim(&victim{address: node})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	var leader *wire
	pids := map[*wire]int{}
	for _, c := range conns {
		_ = c.SetDeadline(testwait.Deadline().Add(testwait.Limit))
		_, id, _ := strings.Cut(askBulk(t, c, "INFO server"), "process_id:")
		pids[c] = atoi(t, id[:strings.Index(id, "\r")])
		if strings.Contains(askBulk(t, c, "INFO replication"), "role:master") {
			leader = c
		}
	}
	if leader == nil {
		t.Fatal("nobody leads")
	}
	for _, node := range nodes {
		for range idle {
			c, err := net.DialTimeout("tcp", node, testwait.Limit)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
	}
	for _, c := range conns {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pids[c]))
		if free := files - len(open); err != nil || free < 20 {
			t.Errorf("%d descriptors are left for the cluster (%v)", free, err)
		}
	}
	if err := syscall.Kill(pids[leader], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pids[leader], syscall.SIGCONT)
	for _, c := range conns {
		if c == leader {
			continue
		}
		testwait.UntilNil(t, "a node decides without the leader", func() error {
			got, text, err := c.ask("TB.ACQUIRE k 1000 1/h")
			if err == nil && (len(got) != 5 || got[0] != 1) {
				err = errors.New(text)
			}
			return err
		})
	}
}

// askBulk sends a command whose reply is one bulk string.
func askBulk(t *testing.T, c *wire, command string) string {
	t.Helper()
	_, head, err := c.ask(command)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, atoi(t, strings.TrimPrefix(head, "$"))+2)
	if _, err := io.ReadFull(c.in, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A limit of open files below --max-clients lowers it, and CONFIG shows and keeps to the value in force; too low a
// limit is refused with a sentence.
func TestMaxClientsFitsOpenFiles(t *testing.T) {
	address := testserver.Start(t, limited(t, 300), "--admin", "")
	want := divide(300, &config.Config{}).clients
	if got := ask(t, address, "CONFIG GET maxclients"); got != fmt.Sprintf(`["maxclients" "%d"]`, want) {
		t.Errorf("CONFIG GET: %s, want %d", got, want)
	}
	if got := ask(t, address, fmt.Sprint("CONFIG SET max-clients ", want+1)); !strings.Contains(got, "open files leaves room for") {
		t.Error(got)
	}
	if got := ask(t, address, fmt.Sprint("CONFIG SET max-clients ", want-1)); got != "+OK" {
		t.Error(got)
	}
	wantRefusal(t, "raise it to 256 or more", limited(t, 64))
}
