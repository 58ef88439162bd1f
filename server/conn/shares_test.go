package conn

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/pubsub"
)

// newPassSession returns a session of a loop with passes, as the default user, whose client takes all replies.
func newPassSession(t *testing.T, h *Env, p *share.Passes) (*Session, *takingLink) {
	s, link := h.NewSession("127.0.0.1:1", "server", func() {}), &takingLink{}
	s.Attach(link, nil)
	s.JoinLoop(p, func() { s.ServeInput(nil) })
	if err := h.Registry.Admit(&s.public); err != nil {
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

// goOn begins passes until no input waits for them.
func goOn(p *share.Passes) {
	for n := 0; p.Waits() && n < 1000; n++ {
		p.Begin()
	}
}

// A session that becomes another user's while its input waits in the line of the user before goes on, although it has
// turns for other reasons meanwhile.
func TestUserChangesInLine(t *testing.T) {
	h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
	if err := h.Users.Set("mal", []string{"on", ">tea", "+@all"}); err != nil {
		t.Fatal(err)
	}
	var p share.Passes
	s, link := newPassSession(t, h, &p)
	s.ServeInput(frames("AUTH mal tea"))
	if s.user == nil || s.user.Name() != "mal" {
		t.Fatal("not logged in")
	}
	link.lines = 0
	const pings = 20_000
	s.ServeInput(append(frames("RESET"), bytes.Repeat(frames("PING"), pings)...))
	if !s.public.Awaits(wait.ForTurn) || s.user.Name() == "mal" {
		t.Fatal("the input does not wait, or the user is as before")
	}
	s.ServeInput(nil)
	goOn(&p)
	if s.public.Awaits(wait.ForTurn) || link.lines != 1+pings {
		t.Errorf("the input waits: %v, after %d lines of replies of %d", s.public.Awaits(wait.ForTurn), link.lines, 1+pings)
	}
}

// newLaggingChannel returns subscribers of the channel news that have not had their turns for so many messages that its
// publishers pause.
func newLaggingChannel(t *testing.T, h *Env, p *share.Passes) (subscribers []*Session) {
	h.Channels = &pubsub.Channels{}
	for range 100 {
		s, _ := newPassSession(t, h, p)
		s.ServeInput(frames("SUBSCRIBE news"))
		subscribers = append(subscribers, s)
	}
	goOn(p)
	for range 3 {
		h.Channels.Publish([]byte("news"), make([]byte, pubsub.MaxQueuedBytes/8))
	}
	return subscribers
}

// The pause of a publisher may end at the beginning of a turn that has another reason. If the publisher has to pause
// again then, it goes on after that pause.
func TestPauseEndsInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
		var p share.Passes
		subscribers := newLaggingChannel(t, h, &p)
		s, link := newPassSession(t, h, &p)
		s.subscriptions.publishesTo = "news"
		s.ServeInput(frames("PING"))
		if !s.public.Awaits(wait.ForTurn) {
			t.Fatal("the publisher does not pause")
		}
		s.public.Wait.Begin(wait.ForReader)
		link.unsent = func() int {
			time.Sleep(2 * publisherPause)
			return 0
		}
		s.ServeInput(nil)
		link.unsent = nil
		if !s.public.Awaits(wait.ForTurn) {
			t.Fatal("the publisher goes on before its subscribers have had their turns")
		}
		for _, s := range subscribers {
			s.ServeInput(nil)
		}
		time.Sleep(2 * publisherPause)
		s.ServeInput(nil)
		if goOn(&p); link.lines != 1 {
			t.Error("the publisher waits for ever")
		}
	})
}

// A caller that publishes too quickly leaves the processor to others while it pauses: without that, the time of the
// test would stand still.
func TestCallersPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
		var p share.Passes
		subscribers := newLaggingChannel(t, h, &p)
		go func() {
			time.Sleep(10 * publisherPause)
			for _, s := range subscribers {
				s.ServeInput(nil)
			}
		}()
		caller := Caller{User: h.Users.Default(), Address: "127.0.0.1:1", Timeout: time.Hour}
		if out, err := h.Do(t.Context(), caller, frames("PUBLISH news x", "PING")); err != nil || !bytes.HasSuffix(out, []byte("+PONG\r\n")) {
			t.Errorf("%q, %v", out, err)
		}
	})
}
