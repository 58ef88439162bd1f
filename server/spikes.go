package server

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/server/command"
)

// spikes keeps, for each kind of event, when it took longer than --latency-monitor-threshold. The kinds are few and
// ours: eventCommand and so on.
type spikes struct {
	mu     sync.Mutex
	events map[string]*spikesOf
}

type spikesOf struct {
	history []command.Spike // the oldest first
	longest int64
}

// maxSpikes bounds the history of an event, as in Redis.
const maxSpikes = 160

// The events.
const (
	eventCommand   = "command"
	eventLoopLag   = "event-loop"
	eventExpireKey = "expire-cycle"
)

// spike notes an event that took long, if it did.
func (s *Server) spike(event string, nanos int64) {
	threshold := s.Config().LatencyMillis
	millis := nanos / int64(time.Millisecond)
	if threshold == 0 || millis < int64(threshold) {
		return
	}
	second := s.clock.Now() / int64(time.Second)
	s.spikes.mu.Lock()
	defer s.spikes.mu.Unlock()
	if s.spikes.events == nil {
		s.spikes.events = make(map[string]*spikesOf)
	}
	e := s.spikes.events[event]
	if e == nil {
		e = &spikesOf{}
		s.spikes.events[event] = e
	}
	e.longest = max(e.longest, millis)
	if n := len(e.history); n > 0 && e.history[n-1].UnixSec == second {
		e.history[n-1].Millis = max(e.history[n-1].Millis, millis)
		return
	}
	if len(e.history) >= maxSpikes {
		e.history = append(e.history[:0], e.history[1:]...)
	}
	e.history = append(e.history, command.Spike{UnixSec: second, Millis: millis})
}

// Spikes implements [command.Observer].
func (s *Server) Spikes() (summaries []command.SpikeSummary) {
	s.spikes.mu.Lock()
	defer s.spikes.mu.Unlock()
	for _, event := range slices.Sorted(maps.Keys(s.spikes.events)) {
		e := s.spikes.events[event]
		summaries = append(summaries, command.SpikeSummary{Event: event, Latest: e.history[len(e.history)-1], Longest: e.longest})
	}
	return summaries
}

// SpikeHistory implements [command.Observer].
func (s *Server) SpikeHistory(event string) []command.Spike {
	s.spikes.mu.Lock()
	defer s.spikes.mu.Unlock()
	if e := s.spikes.events[event]; e != nil {
		return slices.Clone(e.history)
	}
	return nil
}

// ForgetSpikes implements [command.Observer].
func (s *Server) ForgetSpikes(events []string) (forgotten int) {
	s.spikes.mu.Lock()
	defer s.spikes.mu.Unlock()
	before := len(s.spikes.events)
	maps.DeleteFunc(s.spikes.events, func(event string, _ *spikesOf) bool {
		return len(events) == 0 || slices.Contains(events, event)
	})
	return before - len(s.spikes.events)
}
