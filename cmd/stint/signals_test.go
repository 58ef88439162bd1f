//go:build e2e

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/signals"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/internal/testwait"
)

// TestSignals sends every signal of the table, and SIGPIPE, to a server in every configuration. No request that was
// answered is forgotten on disk, and only a signal that is to end a server does, with exit code 0.
func TestSignals(t *testing.T) {
	tls, peer := testtls.New(t), testserver.ReserveAddress(t)
	for name, args := range map[string][]string{
		"in memory": {},
		"snapshot":  {"--dir", "state", "--durability", "snapshot"},
		"interval":  {"--dir", "state", "--durability", "interval"},
		"always":    {"--dir", "state", "--durability", "always"},
		"TLS":       {"--dir", "state", "--tls-listen", "127.0.0.1:0", "--tls-cert", tls.Cert, "--tls-key", tls.Key},
		"cluster":   {"--dir", "state", "--node-id", "a", "--cluster-listen", peer, "--cluster-peers", peer, "--cluster-heartbeat", "1s", "--decide-timeout", "20s"},
	} {
		t.Run(name, func(t *testing.T) {
			p := testserver.NewServer(t, os.Args[0], append([]string{"--admin", ""}, args...)...)
			p.Env = append(os.Environ(), asServer+"=1")
			p.Start(t)
			taken := 0
			for _, s := range serverSignals() {
				p.AwaitReady(t)
				if name == "cluster" {
					p.AwaitFormed(t)
				}
				wantTaken(t, p, &taken)
				if s.end {
					wantEnd(t, p, s.Signal)
					if name == "in memory" {
						taken = 0
					}
					p.Start(t)
					continue
				}
				p.Signal(s.Signal)
				if s.Signal != syscall.SIGPIPE { // which leaves no trace
					p.AwaitOutput(t, regexp.MustCompile(traceOf(s.Signal, name == "TLS")))
				}
				wantTaken(t, p, &taken)
			}
			p.AwaitReady(t)
			p.Stop(t)
		})
	}
}

type serverSignal struct {
	syscall.Signal
	end bool
}

// serverSignals are the signals of the table, and SIGPIPE.
func serverSignals() []serverSignal {
	all := []serverSignal{{syscall.SIGPIPE, false}}
	for _, row := range signals.Table {
		all = append(all, serverSignal{row.Signal, row.Server == signals.End})
	}
	return all
}

// traceOf matches the line of the log about a signal that does not end a server.
func traceOf(s syscall.Signal, hasCertificates bool) string {
	switch {
	case s != syscall.SIGHUP:
		return "ignored a signal.*signal=." + s.String()
	case hasCertificates:
		return "reloaded the certificates"
	}
	return "nothing to reload"
}

// wantTaken takes a token, and checks that all tokens taken before are known.
func wantTaken(t *testing.T, p *testserver.Process, taken *int) {
	t.Helper()
	*taken++
	p.Await(t, fmt.Sprintf("it knows %d tokens taken", *taken), func() bool {
		conn, err := net.Dial("tcp", p.Address)
		if err != nil {
			return false
		}
		defer conn.Close()
		_ = conn.SetDeadline(testwait.Deadline())
		_, _ = io.WriteString(conn, "TB.ACQUIRE k 1000 1/d\r\nQUIT\r\n")
		got, _ := io.ReadAll(conn)
		return strings.HasPrefix(string(got), fmt.Sprintf("*5\r\n:1\r\n:1000\r\n:%d\r\n", 1000-*taken))
	})
}

// wantEnd ends a process by a signal, which it has to take for a request to end gracefully.
func wantEnd(t *testing.T, p *testserver.Process, s syscall.Signal) {
	t.Helper()
	if err := p.End(s); err != nil {
		t.Fatal(err)
	}
	if _, state := p.Running(); !state.Success() {
		t.Errorf("it ended by %v with %v", s, state)
	}
}

// A server whose log nobody reads any longer goes on.
func TestLogThatNobodyReads(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := testserver.Command(t, os.Args[0], "server", "--listen", "127.0.0.1:0", "--admin", "")
	cmd.Env, cmd.Stderr = append(os.Environ(), asServer+"=1"), write
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	read.Close()
	address := readyAddress(t, out)
	for range 3 {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil { // has it log a line
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(testwait.Deadline())
		if _, _ = io.WriteString(conn, "PING\r\n"); !answersPing(conn) {
			t.Fatal("it does not answer")
		}
		conn.Close()
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// readyAddress reads a server's banner, and returns its address.
func readyAddress(t *testing.T, out io.Reader) string {
	t.Helper()
	var banner []byte
	ready := regexp.MustCompile(`ready: accepting connections on (.*)\n`)
	for buffer := make([]byte, 1024); ; {
		n, err := out.Read(buffer)
		banner = append(banner, buffer[:n]...)
		if found := ready.FindSubmatch(banner); found != nil {
			return string(found[1])
		}
		if err != nil {
			t.Fatalf("%v: %s", err, banner)
		}
	}
}

// TestSignalsToCommands ends commands that would wait for long, by each signal that is to end them: they end
// gracefully, so that they can remove their files.
func TestSignalsToCommands(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	address := silent.Addr().String()
	for name, args := range map[string][]string{
		"backup": {"backup", "--admin", address, t.TempDir() + "/copy.stint"},
		"top":    {"top", "--admin", address},
		"health": {"health", "--admin", address},
		"replay": {"replay", "--format", "json", "--limit", "TB {} 1 1/s", "-"},
	} {
		for _, row := range signals.Table {
			if row.Others != signals.End {
				continue
			}
			t.Run(name+" "+row.Signal.String(), func(t *testing.T) {
				cmd := testserver.Command(t, os.Args[0], args...)
				cmd.Env = append(os.Environ(), asServer+"=1")
				stdin, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				defer stdin.Close()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if name == "replay" { // more than a pipe holds: it is being read
					_, err = io.WriteString(stdin, strings.Repeat(`{"time":"2026-01-01T00:00:00Z","ip":"192.0.2.1"}`+"\n", 10_000))
				} else {
					var conn net.Conn
					if conn, err = silent.Accept(); err == nil {
						defer conn.Close()
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				_ = cmd.Process.Signal(row.Signal)
				if err := cmd.Wait(); cmd.ProcessState == nil || !cmd.ProcessState.Exited() {
					t.Errorf("it ended with %v", err)
				}
			})
		}
	}
}

// TestSignalsFromTheFirstMoment has Go show the order in which it initializes packages: signals are received before the
// slow ones.
func TestSignalsFromTheFirstMoment(t *testing.T) {
	cmd := testserver.Command(t, os.Args[0], "version")
	cmd.Env = append(os.Environ(), asServer+"=1", "GODEBUG=inittrace=1")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var order []string
	for _, found := range regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(string(output), -1) {
		order = append(order, found[1])
	}
	at := slices.Index(order, "github.com/stintdb/stint/internal/signals")
	for _, slow := range []string{"encoding/gob", "net/http", "google.golang.org/grpc", "github.com/prometheus/client_golang/prometheus", "github.com/hashicorp/raft", "main"} {
		if later := slices.Index(order, slow); at < 0 || later < at {
			t.Errorf("signals are received as number %d of %d, %s is number %d", at, len(order), slow, later)
		}
	}
}
