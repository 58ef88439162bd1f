package pubsub

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/server/fanout"
)

// subscribed returns a subscriber, and a count of its wake-ups.
func subscribed(t *testing.T, c *Channels, channels ...string) (s *Subscriber, woken *int) {
	t.Helper()
	woken = new(int)
	owner := new(fanout.Reader)
	owner.Init(new(fanout.Queue), func() { *woken++ })
	s = c.NewSubscriber(owner)
	for _, channel := range channels {
		if !s.Subscribe(channel) {
			t.Fatalf("no room for %q", channel)
		}
	}
	return s, woken
}

// taken is what a subscriber takes in its turn.
func taken(s *Subscriber) (all string, ok bool) {
	s.owner.BeginTurn()
	messages, ok := s.Take()
	for _, m := range messages {
		all += fmt.Sprintf("%s=%s ", m.Channel, m.Text)
	}
	return all, ok
}

// A message goes to those subscribed to its channel, who are woken for the first one.
func TestMessagesReachSubscribers(t *testing.T) {
	var c Channels
	publish := func(channel, text string, want int) {
		t.Helper()
		if n := c.Publish([]byte(channel), []byte(text)); n != want {
			t.Errorf("%d receivers of %s, want %d", n, text, want)
		}
	}
	publish("x", "0", 0)
	a, woken := subscribed(t, &c, "x", "y", "x")
	b, _ := subscribed(t, &c, "y")
	publish("x", "1", 1)
	publish("y", "2", 2)
	publish("z", "3", 0)
	if got, ok := taken(a); got != "x=1 y=2 " || !ok || *woken != 1 {
		t.Errorf("%q, woken %d times", got, *woken)
	}
	if got, _ := taken(b); got != "y=2 " {
		t.Errorf("%q", got)
	}
	a.Unsubscribe("x")
	a.Unsubscribe("x")
	b.Close()
	publish("x", "4", 0)
	publish("y", "5", 1)
	if got, _ := taken(a); got != "y=5 " || *woken != 2 {
		t.Errorf("%q, woken %d times", got, *woken)
	}
	a.Close()
	if len(c.byName) != 0 || c.count.Load() != 0 || a.Bytes() != 0 {
		t.Errorf("%d channels, %d subscriptions, %d bytes are left", len(c.byName), c.count.Load(), a.Bytes())
	}
}

// One who does not take messages in time gets no more of them, and others do.
func TestQueueIsBounded(t *testing.T) {
	var c Channels
	slow, _ := subscribed(t, &c, "x")
	quick, _ := subscribed(t, &c, "x")
	text := make([]byte, MaxQueuedBytes/4)
	for range 6 {
		c.Publish([]byte("x"), text)
		if slow.Bytes() > MaxQueuedBytes+channelBytes+1 {
			t.Fatalf("%d bytes are queued", slow.Bytes())
		}
		if messages, ok := quick.Take(); len(messages) != 1 || !ok {
			t.Fatalf("%d messages, %v", len(messages), ok)
		}
	}
	if messages, ok := slow.Take(); len(messages) != 0 || ok {
		t.Errorf("%d messages, %v", len(messages), ok)
	}
	c.Publish([]byte("x"), make([]byte, 2*MaxQueuedBytes))
	if messages, ok := quick.Take(); len(messages) != 1 || !ok {
		t.Error("a message that is alone was refused")
	}
}

// A subscriber's channels are bounded in number and in length.
func TestChannelsAreBounded(t *testing.T) {
	var c Channels
	s, _ := subscribed(t, &c)
	for i := range MaxChannels {
		if !s.Subscribe(fmt.Sprint(i)) {
			t.Fatalf("no room for channel %d", i)
		}
	}
	if s.Subscribe("one more") || !s.Subscribe("7") || len(s.Channels()) != MaxChannels {
		t.Error("not bounded in number")
	}
	s, _ = subscribed(t, &c, strings.Repeat("x", MaxChannelBytes))
	if s.Subscribe("y") || !s.Subscribe("") {
		t.Error("not bounded in length")
	}
}

// All subscribers get the messages of several publishers in the same order.
func TestOrder(t *testing.T) {
	var c Channels
	var subscribers [3]*Subscriber
	for i := range subscribers {
		subscribers[i], _ = subscribed(t, &c, "x")
	}
	var wg sync.WaitGroup
	for publisher := range 4 {
		wg.Go(func() {
			for i := range 200 {
				c.Publish([]byte("x"), fmt.Append(nil, publisher, i))
			}
		})
	}
	wg.Wait()
	first, _ := taken(subscribers[0])
	if strings.Count(first, "x=") != 800 {
		t.Fatalf("%d messages", strings.Count(first, "x="))
	}
	for _, s := range subscribers[1:] {
		if got, _ := taken(s); got != first {
			t.Error("another order")
		}
	}
}
