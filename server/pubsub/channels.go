// Package pubsub hands messages to the connections of this process that are subscribed to their channels. Nothing of it is
// kept: a message goes to those that are subscribed now.
package pubsub

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of a subscriber.
const (
	MaxChannels     = 1000      // to which it is subscribed
	MaxChannelBytes = 256 << 10 // of their names
	MaxQueuedBytes  = 4 << 20   // of the messages that it has not taken yet
)

// Memory, about.
const (
	messageBytes = 64  // of a queued message beside its text
	channelBytes = 128 // of a subscription beside the name
)

// Message is a text that was published on a channel. All subscribers share it: it must not be changed.
type Message struct{ Channel, Text []byte }

// Channels are the channels that have subscribers. The zero value has none. Its methods may be called from any goroutine.
type Channels struct {
	count atomic.Int64 // of subscriptions

	mu     sync.Mutex
	byName map[string][]*Subscriber // in the order of subscription
}

// Publish gives a message to the subscribers of its channel, and returns their number. The message must not be changed
// afterwards. All subscribers get messages in the same order.
func (c *Channels) Publish(channel, text []byte) (receivers int) {
	if c.count.Load() == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.byName[string(channel)]
	for _, s := range all {
		s.add(Message{channel, text})
	}
	return len(all)
}

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
	return len(c.byName[channel])
}

// Names returns the channels that have subscribers, and false if they are more than a number.
func (c *Channels) Names(most int) (names []string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byName) > most {
		return nil, false
	}
	return slices.Collect(maps.Keys(c.byName)), true
}

// Subscriber is one connection's subscriptions, and the messages that it has not taken yet. Its owner calls its methods, on one
// goroutine at a time.
type Subscriber struct {
	of       *Channels
	wake     func()
	channels []string // in the order of subscription
	known    map[string]struct{}
	names    int // bytes of the channels' names

	mu     sync.Mutex
	queue  []Message
	bytes  int // of the queue
	failed bool
}

// NewSubscriber returns a subscriber without subscriptions. wake is called, from any goroutine and without delay, when there are
// messages to take.
func (c *Channels) NewSubscriber(wake func()) *Subscriber {
	return &Subscriber{of: c, wake: wake, known: map[string]struct{}{}}
}

// Subscribe adds a channel; it reports false if there are too many.
func (s *Subscriber) Subscribe(channel string) (ok bool) {
	if _, found := s.known[channel]; found {
		return true
	}
	if len(s.channels) == MaxChannels || s.names+len(channel) > MaxChannelBytes {
		return false
	}
	s.names += len(channel)
	s.known[channel] = struct{}{}
	s.channels = append(s.channels, channel)
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.byName == nil {
		s.of.byName = map[string][]*Subscriber{}
	}
	s.of.byName[channel] = append(s.of.byName[channel], s)
	s.of.count.Add(1)
	return true
}

// Unsubscribe ends the subscription to a channel, if there is one.
func (s *Subscriber) Unsubscribe(channel string) {
	if _, found := s.known[channel]; !found {
		return
	}
	delete(s.known, channel)
	s.names -= len(channel)
	at := slices.Index(s.channels, channel)
	s.channels = slices.Delete(s.channels, at, at+1)
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	all := s.of.byName[channel]
	at = slices.Index(all, s)
	if all = slices.Delete(all, at, at+1); len(all) == 0 {
		delete(s.of.byName, channel)
	} else {
		s.of.byName[channel] = all
	}
	s.of.count.Add(-1)
}

// Close ends all subscriptions.
func (s *Subscriber) Close() {
	for len(s.channels) > 0 {
		s.Unsubscribe(s.channels[len(s.channels)-1])
	}
}

// Channels lists the channels, in the order of subscription. The list is valid until the next change.
func (s *Subscriber) Channels() []string { return s.channels }

// Take returns the messages since the last call; ok is false if the subscriber did not take them in time, and some are lost.
func (s *Subscriber) Take() (messages []Message, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages = s.queue
	s.queue, s.bytes = nil, 0
	return messages, !s.failed
}

// Bytes is the memory of the channels, and of the messages that are not taken yet.
func (s *Subscriber) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes + s.names + len(s.channels)*channelBytes
}

func (s *Subscriber) add(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed {
		return
	}
	wasEmpty := len(s.queue) == 0
	s.queue = append(s.queue, m)
	s.bytes += messageBytes + len(m.Channel) + len(m.Text)
	if !wasEmpty && s.bytes > MaxQueuedBytes {
		s.queue, s.bytes, s.failed = nil, 0, true
	}
	if wasEmpty || s.failed {
		s.wake()
	}
}
