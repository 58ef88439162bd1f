package testserver

import (
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Await waits until a condition is true. It fails the test if the process ends before, or if that takes too long.
func (p *Process) Await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		is, state := p.Running() // first: the condition may have become true before the end
		switch {
		case condition():
			return
		case !is:
			t.Fatalf("%s ended before %s: %v\n%s", p.program, what, state, p.LastLines())
		case time.Now().After(deadline):
			t.Fatalf("%s: not within %v: %s\n%s", p.program, patience, what, p.LastLines())
		}
	}
}

// AwaitOutput waits until the process has printed something that a pattern matches since it was started last, and returns the
// match and those of its groups.
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
		conn, err := net.DialTimeout(network, address, patience)
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
// addresses for clients as they are, the others with a protocol behind them.
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
