package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// fields are those of a connection's line, as another connection sees it.
func (p *sessionPlayer) fields(t *testing.T, name string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for f := range strings.FieldsSeq(p.ClientLine(p.conns[name].Session.Public().ID())) {
		key, value, _ := strings.Cut(f, "=")
		fields[key] = value
	}
	return fields
}

func TestClientBuffers(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.Close()
	expect := func(when string, want map[string]string) {
		t.Helper()
		got := p.fields(t, "a")
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s=%s, want %s", when, name, got[name], value)
			}
		}
	}
	sent := frames("PING", "PING")
	replies := p.do(t, "a", "PING", "PING")
	expect("idle", map[string]string{"qbuf": "0", "multi": "-1", "multi-mem": "0", "flags": "N", "events": "r", "omem": "0",
		"tot-net-in": fmt.Sprint(len(sent)), "tot-net-out": fmt.Sprint(len(replies))})
	idle := p.fields(t, "a")["tot-mem"]

	p.do(t, "a", "MULTI", "TB.ACQUIRE k 5 1/s", "TB.ACQUIRE k 5 1/s")
	mem := 0
	for _, word := range strings.Fields("TB.ACQUIRE k 5 1/s TB.ACQUIRE k 5 1/s") {
		mem += len(word) + 24
	}
	expect("in MULTI", map[string]string{"multi": "2", "multi-mem": fmt.Sprint(mem), "flags": "x"})
	if got := p.fields(t, "a")["tot-mem"]; got == idle {
		t.Errorf("tot-mem stays %s with commands queued", got)
	}
	p.do(t, "a", "EXEC")
	expect("after EXEC", map[string]string{"multi": "-1", "multi-mem": "0", "flags": "N"})

	const part = "*2\r\n$4\r\nECHO\r\n$5\r\nhe"
	p.conns["a"].deliver([]byte(part))
	expect("in the middle of a command", map[string]string{"qbuf": fmt.Sprint(len(part))})
	p.conns["a"].deliver([]byte("llo\r\n"))
	expect("at its end", map[string]string{"qbuf": "0"})

	p.do(t, "a", "CLIENT TRACKING ON", "CLIENT NO-EVICT ON")
	expect("tracking", map[string]string{"redir": "0", "flags": "te"})
}

// unreadLink is the link to a client that has read nothing yet.
type unreadLink struct{ *pipe }

func (l unreadLink) Unsent() int { return l.sent.Len() }

func TestClientThatHasNotRead(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.Close()
	c := p.open("a")
	c.Attach(unreadLink{c}, nil)
	replies := p.do(t, "a", "ECHO hello")
	got, want := p.fields(t, "a"), fmt.Sprint(len(replies))
	if got["obl"] != want || got["omem"] != want || got["events"] != "rw" {
		t.Errorf("obl=%s omem=%s events=%s, want %s bytes", got["obl"], got["omem"], got["events"], want)
	}
}

// A line has all that Redis 7 and 8 have, in their order, but for what does not exist here.
func TestClientLineAsRedis(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.Close()
	const want = "id addr laddr name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem rbs rbp obl oll omem " +
		"tot-mem events cmd user redir resp lib-name lib-ver tot-net-in tot-net-out"
	line := p.do(t, "a", "CLIENT INFO")
	var names []string
	for _, m := range regexp.MustCompile(`([a-z-]+)=`).FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("fields are\n%s\nwant\n%s", got, want)
	}
}
