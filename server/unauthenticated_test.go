package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/registry"
)

// Connections that do not log in keep nobody out who does: not those of another address, though they come faster than
// that one logs in, and not when they have taken all of --max-clients.
func TestUnauthenticatedKeepNobodyOut(t *testing.T) {
	for name, set := range map[string]func(c *config.Config){
		"--max-unauthenticated": func(c *config.Config) { c.MaxStrangers = 32 },
		"--max-clients":         func(c *config.Config) { c.MaxClients = 32 },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoginPlayer(t, set)
			port := 0
			flood := func(count int) {
				for range count {
					port++
					p.open(fmt.Sprintf("203.0.113.7:%d", port))
					p.settle() // the one that is closed for it leaves
				}
			}
			flood(100)
			for i := range 20 {
				c := p.open(fmt.Sprintf("198.51.100.%d:1", i))
				flood(50)
				c.deliver(frames("AUTH tea"))
				if got := c.reply(t); got != "+OK\r\n" || c.closed {
					t.Fatalf("login %d is answered %q", i, got)
				}
			}
			late := p.open("203.0.113.7:70000")
			late.deliver(frames("AUTH tea", "PING"))
			if got := late.reply(t); !strings.HasSuffix(got, "+PONG\r\n") {
				t.Errorf("a login from the same address is answered %q", got)
			}
			if n := p.env.Registry.Count(); n > 32+registry.MaxLeaving+21 {
				t.Errorf("%d clients are connected", n)
			}
			if n := p.env.Registry.Unauthenticated(); n > 32 {
				t.Errorf("%d of them have not logged in", n)
			}
		})
	}
}

// What clients that have not logged in can have logged is a line a minute for each reason, with a count.
func TestClosedConnectionsAreLoggedOnceAMinute(t *testing.T) {
	var log testlog.Log
	p := newLoginPlayer(t)
	p.Server.env.Log = log.Logger()
	p.Server.env.Registry.Log = p.Server.env.Log
	for _, in := range []string{"POST / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello\n"} {
		for i := range 200 {
			p.open(fmt.Sprintf("203.0.113.7:%d", i)).deliver([]byte(in))
		}
	}
	if n := log.Count("closed a "); n != 2 {
		t.Errorf("%d lines: %s", n, &log)
	}
	p.Advance(time.Minute)
	p.open("203.0.113.7:1").deliver([]byte("POST / HTTP/1.1\r\n\r\n"))
	if !log.Has("times=200\n") {
		t.Errorf("they are not counted: %s", &log)
	}
}

// CONFIG GET requirepass shows the password in force, no matter which command has set it, and CONFIG SET replaces any
// value.
func TestRequirePassIsTheOneInForce(t *testing.T) {
	p := newLoginPlayer(t)
	c := p.open("203.0.113.7:1")
	step := func(command, want string) {
		t.Helper()
		c.deliver(frames(command))
		if got := c.reply(t); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	shown := func(value string) string {
		return fmt.Sprintf("*2\r\n$11\r\nrequirepass\r\n$%d\r\n%s\r\n", len(value), value)
	}
	hash := func(password string) string { return "#" + acl.HashOf([]byte(password)).String() }
	step("AUTH tea", "+OK\r\n")
	step("CONFIG GET requirepass", shown(hash("tea")))
	step("ACL SETUSER default >coffee", "+OK\r\n")
	step("CONFIG GET requirepass", shown(hash("tea")))
	step("ACL SETUSER default <tea", "+OK\r\n")
	step("CONFIG GET requirepass", shown(hash("coffee")))
	step("ACL SETUSER default nopass", "+OK\r\n")
	step("CONFIG GET requirepass", shown(""))
	step("CONFIG SET requirepass tea", "+OK\r\n")
	step("CONFIG GET requirepass", shown(hash("tea")))
	late := p.open("203.0.113.7:2")
	late.deliver(frames("PING"))
	if got := late.reply(t); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("after CONFIG SET requirepass: %q", got)
	}
}
