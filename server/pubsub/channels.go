// Package pubsub hands messages to the connections of this process that are subscribed to their channels. No message is
// kept for later subscribers: it goes to the connections that are subscribed when it is published.
package pubsub

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/fanout"
)

// Bounds of a subscriber.
const (
	MaxChannels     = 1000      // to which it is subscribed
	MaxChannelBytes = 256 << 10 // of their names
	MaxQueuedBytes  = 4 << 20   // of the messages of a channel that some subscriber has not taken yet
)

// The memory of messages and subscriptions, roughly.
const (
	messageBytes = 64  // of a queued message beside its text
	channelBytes = 128 // of a subscription beside the name
)

// Message is a text that was published on a channel. All subscribers share it: it must not be changed.
type Message struct {
	Channel, Text []byte
	number        int64 // among the messages of all channels
}

// Channels are the channels that have subscribers. The zero value has none. Its methods may be called from any
// goroutine.
type Channels struct {
	count atomic.Int64 // of subscriptions

	mu     sync.Mutex
	byName map[string]*fanout.Log[Message]
	last   int64 // the number of the last message
}

// Publish hands a message to the subscribers of its channel, and returns how many there are; the cost does not depend
// on it. The message must not be changed afterwards. All subscribers get messages in the same order.
func (c *Channels) Publish(channel, text []byte) (receivers int) {
	if c.count.Load() == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.byName[string(channel)]
	if to == nil {
		return 0
	}
	c.last++
	return to.Add(Message{channel, text, c.last})
}

// Lags reports whether publishers of a channel are to wait, because its subscribers have not had their turns for
// earlier messages.
func (c *Channels) Lags(channel string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.byName[channel]
	return to != nil && to.Lags()
}

// HasSubscribers reports whether any channel has subscribers. It may be called on nil.
func (c *Channels) HasSubscribers() bool { return c != nil && c.count.Load() > 0 }

// Counts returns the number of channels that have subscribers, and of subscriptions to them.
func (c *Channels) Counts() (channels, subscriptions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byName), int(c.count.Load())
}

// Number returns the number of subscribers of a channel.
func (c *Channels) Number(channel string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.byName[channel]; of != nil {
		return of.Len()
	}
	return 0
}

// Names returns the channels that have subscribers, and false if there are more than most.
func (c *Channels) Names(most int) (names []string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byName) > most {
		return nil, false
	}
	return slices.Collect(maps.Keys(c.byName)), true
}

// Subscriber is one connection's subscriptions. Its owner calls its methods, on one goroutine at a time.
type Subscriber struct {
	of       *Channels
	owner    *fanout.Reader
	channels []string // in the order of subscription
	places   map[string]*fanout.Place[Message]
	names    int // bytes of the channels' names
	failed   bool
}

// NewSubscriber returns a subscriber without subscriptions. Its owner is woken when there are messages to take.
func (c *Channels) NewSubscriber(owner *fanout.Reader) *Subscriber {
	return &Subscriber{of: c, owner: owner, places: map[string]*fanout.Place[Message]{}}
}

// Subscribe adds a channel; it reports false if there are too many.
func (s *Subscriber) Subscribe(channel string) (ok bool) {
	if s.places[channel] != nil {
		return true
	}
	if len(s.channels) == MaxChannels || s.names+len(channel) > MaxChannelBytes {
		return false
	}
	s.names += len(channel)
	s.channels = append(s.channels, channel)
	c := s.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]*fanout.Log[Message]{}
	}
	to := c.byName[channel]
	if to == nil {
		to = fanout.NewLog(s.owner.Queue(), MaxQueuedBytes,
			func(m Message) int { return messageBytes + len(m.Channel) + len(m.Text) })
		c.byName[channel] = to
	}
	s.places[channel] = to.Join(s.owner)
	c.count.Add(1)
	return true
}

// Unsubscribe ends the subscription to a channel, if there is one.
func (s *Subscriber) Unsubscribe(channel string) {
	place := s.places[channel]
	if place == nil {
		return
	}
	delete(s.places, channel)
	s.names -= len(channel)
	at := slices.Index(s.channels, channel)
	s.channels = slices.Delete(s.channels, at, at+1)
	c := s.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if place.Leave() == 0 {
		delete(c.byName, channel)
	}
	c.count.Add(-1)
}

// Close ends all subscriptions.
func (s *Subscriber) Close() {
	for len(s.channels) > 0 {
		s.Unsubscribe(s.channels[len(s.channels)-1])
	}
}

// Channels lists the channels, in the order of subscription. The list is valid until the next change.
func (s *Subscriber) Channels() []string { return s.channels }

// Take returns the messages since the last call, of all channels up to the same moment. ok is false if some are lost
// because the subscriber did not take them in time.
func (s *Subscriber) Take() (messages []Message, ok bool) {
	if s.failed || !s.hasMessages() {
		return nil, !s.failed
	}
	s.of.mu.Lock()
	for _, place := range s.places {
		some, isLost := place.Read()
		messages, s.failed = append(messages, some...), s.failed || isLost
	}
	s.of.mu.Unlock()
	if s.failed {
		return nil, false
	}
	slices.SortFunc(messages, func(a, b Message) int { return cmp.Compare(a.number, b.number) })
	return messages, true
}

func (s *Subscriber) hasMessages() bool {
	for _, place := range s.places {
		if place.IsBehind() {
			return true
		}
	}
	return false
}

// Bytes is the memory of the channels.
func (s *Subscriber) Bytes() int { return s.names + len(s.channels)*channelBytes }
