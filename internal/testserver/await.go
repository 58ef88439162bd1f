package testserver

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testwait"
)

// Await waits until a condition is true. It fails the test if the process ends before, or if that takes too long.
func (p *Process) Await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	holds, isRunning := false, true
	var state *os.ProcessState
	_ = testwait.Poll(func() error {
		isRunning, state = p.Running() // first: the condition may have become true before the end
		if holds = condition(); holds || !isRunning {
			return nil
		}
		return errNotYet
	})
	switch {
	case holds:
	case !isRunning:
		t.Fatalf("%s ended before %s: %v\n%s", p.program, what, state, p.LastLines())
	default:
		t.Fatalf("%s: not within %v: %s\n%s", p.program, testwait.Limit, what, p.LastLines())
	}
}

var errNotYet = errors.New("not yet")

// AwaitOutput waits until the process has printed something that a pattern matches since it was started last, and
// returns the match and the matches of its groups.
func (p *Process) AwaitOutput(t testing.TB, pattern *regexp.Regexp) (match []string) {
	t.Helper()
	p.Await(t, "it has printed "+pattern.String(), func() bool {
		match = pattern.FindStringSubmatch(p.Output())
		return match != nil
	})
	return match
}

// AwaitConnections waits until somebody accepts connections at an address.
func (p *Process) AwaitConnections(t testing.TB, network, address string) {
	t.Helper()
	p.Await(t, "it accepts connections on "+address, func() bool {
		conn, err := net.DialTimeout(network, address, testwait.Limit)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

var (
	readyLine = regexp.MustCompile(`(?m)^ready: accepting connections on (.*)\n`)
	lookLine  = regexp.MustCompile(`(?m)^Look: https?://(\S+) .*\n`)
)

// AwaitReady waits until a server of this checkout says that it is ready, and returns where it accepts connections: its
// addresses for clients as they are, the others followed by a protocol.
func (p *Process) AwaitReady(t testing.TB) (addresses []string) {
	t.Helper()
	return strings.Split(p.AwaitOutput(t, readyLine)[1], ", ")
}

// Listening is where a server listens for a protocol, which is TLS, HTTP, HTTPS or gRPC, once it is ready.
func (p *Process) Listening(t testing.TB, protocol string) (address string) {
	t.Helper()
	addresses := p.AwaitReady(t)
	for _, a := range addresses {
		if address, is := strings.CutSuffix(a, " ("+protocol+")"); is {
			return address
		}
	}
	t.Fatalf("no address is for %s: %q", protocol, addresses)
	return ""
}

// Admin is where a server listens with --admin, once it is ready.
func (p *Process) Admin(t testing.TB) (address string) {
	t.Helper()
	p.AwaitReady(t)
	return p.AwaitOutput(t, lookLine)[1]
}
