package conn

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
)

// newPassSession returns a session of a loop with passes, as the default user, whose client takes all replies.
func newPassSession(t *testing.T, h *Env, p *Passes) (*Session, *takingLink) {
	s, link := h.NewSession("127.0.0.1:1", "server", func() {}), &takingLink{}
	s.Attach(link, nil)
	p.Serve(s, func() { s.ServeInput(nil) })
	if err := h.Registry.Admit(s); err != nil {
		t.Fatal(err)
	}
	return s, link
}

// takingLink is a client that has taken all replies but some bytes.
type takingLink struct {
	lines  int
	unsent func() int
}

func (l *takingLink) Write(b []byte) (int, error) {
	l.lines += bytes.Count(b, []byte("\r\n"))
	return len(b), nil
}

func (l *takingLink) WriteFinal(b []byte) (int, error) { return l.Write(b) }

func (l *takingLink) Unsent() int {
	if l.unsent == nil {
		return 0
	}
	return l.unsent()
}

// A session that becomes another user's while its input waits in the line of the user before goes on, although it has turns for other reasons
// meanwhile.
func TestUserChangesInLine(t *testing.T) {
	h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
	if err := h.Users.Set("mal", []string{"on", ">tea", "+@all"}); err != nil {
		t.Fatal(err)
	}
	var p Passes
	s, link := newPassSession(t, h, &p)
	s.ServeInput(frames("AUTH mal tea"))
	if s.user == nil || s.user.Name() != "mal" {
		t.Fatal("not logged in")
	}
	link.lines = 0
	const pings = 20_000
	s.ServeInput(append(frames("RESET"), bytes.Repeat(frames("PING"), pings)...))
	if !s.Awaits(ForTurn) || s.user.Name() == "mal" {
		t.Fatal("the input does not wait, or the user is as before")
	}
	s.ServeInput(nil)
	for n := 0; p.Waits() && n < pings; n++ {
		p.Begin()
	}
	if s.Awaits(ForTurn) || link.lines != 1+pings {
		t.Errorf("the input waits: %v, after %d lines of replies of %d", s.Awaits(ForTurn), link.lines, 1+pings)
	}
}
