package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/transcripttest"
)

// Subscribers on two event loops get all messages, in order, while two clients publish.
func TestMessagesOnTwoLoops(t *testing.T) {
	h := serve(t)
	const subscribers, messages = 12, 300
	var all [subscribers]*speaker
	for i := range all {
		all[i] = h.speaker(t)
		if reply, err := all[i].ask("SUBSCRIBE c0 c1"); err != nil || reply != `["subscribe" "c0" 1]` {
			t.Fatal(reply, err)
		}
		if reply, err := transcripttest.ReadReply(all[i].replies); err != nil || reply != `["subscribe" "c1" 2]` {
			t.Fatal(reply, err)
		}
	}
	var wg sync.WaitGroup
	for p := range 2 {
		wg.Go(func() {
			s := h.speaker(t)
			for i := range messages {
				command := fmt.Sprintf("PUBLISH c%d %d", p, i)
				if i%2 == 1 {
					command = fmt.Sprintf(`EVAL return(redis.call("PUBLISH",KEYS[1],ARGV[1])) 1 c%d %d`, p, i)
				}
				want := []string{fmt.Sprint(subscribers), "0"}[i%2]
				if reply, err := s.ask(command); err != nil || reply != want {
					t.Errorf("%s: %s (%v), want %s", command, reply, err, want)
					return
				}
			}
		})
	}
	for _, s := range all {
		wg.Go(func() {
			next := [2]int{}
			for range 2 * messages {
				got, err := transcripttest.ReadReply(s.replies)
				if err != nil {
					t.Error(err)
					return
				}
				var channel, number int
				if _, err := fmt.Sscanf(got, `["message" "c%d" "%d"]`, &channel, &number); err != nil || number != next[channel] {
					t.Errorf("%s, want message %d (%v)", got, next[channel], err)
					return
				}
				next[channel]++
			}
		})
	}
	wg.Wait()
}

// A subscriber that does not read is closed, and counted, at --output-buffer-size.
func TestSubscriberThatDoesNotRead(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "a", "SUBSCRIBE news")
	p.do(t, "b", "SUBSCRIBE news")
	p.conns["a"].Attach(&hoardingLink{}, nil)
	text := strings.Repeat("x", 60_000)
	rounds := p.Config().OutputBufferBytes/len(text) + 1
	for i := range rounds {
		if p.conns["a"].closed {
			t.Fatalf("closed after %d of %d messages", i, rounds)
		}
		if reply := p.do(t, "publisher", "PUBLISH news "+text); reply != ":2\r\n" {
			t.Fatal(reply)
		}
	}
	if !p.conns["a"].closed || p.conns["b"].closed || p.env.Stats.SlowReaders.Load() != 1 {
		t.Errorf("closed %v and %v, %d slow readers", p.conns["a"].closed, p.conns["b"].closed, p.env.Stats.SlowReaders.Load())
	}
	if reply := p.do(t, "publisher", "PUBLISH news x"); reply != ":1\r\n" {
		t.Error(reply)
	}
}

// hoardingLink is a connection whose client reads nothing.
type hoardingLink struct{ unsent int }

func (l *hoardingLink) Write(b []byte) (int, error)      { l.unsent += len(b); return len(b), nil }
func (l *hoardingLink) WriteFinal(b []byte) (int, error) { return l.Write(b) }
func (l *hoardingLink) Unsent() int                      { return l.unsent }

// A session whose turn does not come loses its messages, and then its connection.
func TestSubscriberWhoseTurnComesLate(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "a", "SUBSCRIBE news")
	for range 6 {
		p.env.Channels.Publish([]byte("news"), make([]byte, pubsub.MaxQueuedBytes/4))
	}
	if n := p.conns["a"].Usage().Messages; n > 1<<10 {
		t.Errorf("%d bytes are kept", n)
	}
	p.settle()
	if !p.conns["a"].closed || p.env.Stats.SlowReaders.Load() != 1 {
		t.Error("not closed, or not counted")
	}
}

// A connection that is closed, killed or reset gets no messages, and nothing of it is left.
func TestSubscriptionsEnd(t *testing.T) {
	p := newSessionPlayer(t, 0)
	for _, name := range []string{"closed", "killed", "reset", "stays"} {
		p.do(t, name, "SUBSCRIBE c")
	}
	if list := p.do(t, "client", "CLIENT LIST TYPE pubsub"); strings.Count(list, "flags=P db=0 sub=1 ") != 4 {
		t.Errorf("%s", list)
	}
	p.do(t, "stays", "SUBSCRIBE other")
	if channels, subscriptions := p.env.Channels.Counts(); channels != 2 || subscriptions != 5 {
		t.Errorf("%d channels, %d subscriptions", channels, subscriptions)
	}
	if stats := p.do(t, "client", "INFO stats"); !strings.Contains(stats, "pubsub_channels:2\r\npubsub_patterns:0\r\n") {
		t.Errorf("%s", stats)
	}
	p.conns["closed"].hangUp()
	p.do(t, "client", fmt.Sprintf("CLIENT KILL ID %d", p.conns["killed"].Public().ID()))
	p.do(t, "reset", "RESET")
	if reply := p.do(t, "client", "PUBLISH c x"); reply != ":1\r\n" {
		t.Error(reply)
	}
	if reply := p.do(t, "client", "CLIENT KILL TYPE pubsub", "PUBLISH c x"); reply != ":1\r\n:1\r\n" { // killed, and not closed before its turn
		t.Errorf("%q", reply)
	}
	if reply := p.do(t, "client", "PUBLISH c x"); reply != ":0\r\n" {
		t.Error(reply)
	}
	if p.conns["reset"].closed || !p.conns["stays"].closed {
		t.Error("the wrong connection was closed")
	}
}

// A connection that waits for messages is not idle.
func TestIdleTimeoutSubscribed(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.IdleTimeout = 5 * time.Minute })
	s, idle := h.speaker(t), h.dial(t)
	expect(t, idle, frames("PING"), "+PONG\r\n")
	if _, err := s.ask("SUBSCRIBE c"); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(6 * time.Minute)
	h.env.Registry.CloseIdle()
	wantClosed(t, idle, "")
	if reply, err := s.ask("UNSUBSCRIBE"); reply != `["unsubscribe" "c" 0]` {
		t.Fatal(reply, err)
	}
	h.clock.Advance(6 * time.Minute)
	h.env.Registry.CloseIdle()
	wantClosed(t, s.Conn, "")
}

// Too many channels are refused, and the connection keeps those before.
func TestTooManyChannels(t *testing.T) {
	p := newSessionPlayer(t, 0)
	command := "SUBSCRIBE"
	for i := range pubsub.MaxChannels + 1 {
		command += fmt.Sprint(" ", i)
	}
	if reply := p.do(t, "a", command); !strings.Contains(reply, fmt.Sprintf(":%d\r\n-ERR a connection subscribes to at most %[1]d channels", pubsub.MaxChannels)) {
		t.Errorf("…%s", reply[max(0, len(reply)-200):])
	}
	if reply := p.do(t, "b", "PUBLISH 999 x", "PUBLISH 1000 x"); reply != ":1\r\n:0\r\n" {
		t.Errorf("%q", reply)
	}
}

// A publisher that is quicker than the event loops waits for the turns of its subscribers, and none of them is closed.
func TestQuickPublisher(t *testing.T) {
	const subscribers, messages = 20, 100
	for _, command := range []string{"PUBLISH news ", "EVAL return(redis.call('PUBLISH',KEYS[1],ARGV[1])) 1 news "} {
		p := newSessionPlayer(t, 0)
		for i := range subscribers {
			p.open(fmt.Sprint(i)).traffic(frames("SUBSCRIBE news"))
		}
		publisher, pauses := p.open("publisher"), 0
		for i := range messages { // more than 4 MiB, of which subscribers take what fits into their turns
			publisher.traffic(frames(command + strings.Repeat("x", 60_000)))
			if strings.Count(publisher.sent.String(), ":") <= i {
				pauses++
				testwait.Until(t, "the publisher goes on", func() bool {
					p.settle()
					return publisher.TakesInput() && strings.Count(publisher.sent.String(), ":") == i+1
				})
			}
		}
		if pauses == 0 {
			t.Errorf("%.10s: the publisher never waited", command)
		}
		p.settle()
		for i := range subscribers {
			c := p.conns[fmt.Sprint(i)]
			if got := strings.Count(c.sent.String(), "xx\r\n"); got != messages || c.closed {
				t.Fatalf("%.10s: a subscriber gets %d of %d messages, closed: %v", command, got, messages, c.closed)
			}
		}
	}
}
