// Package latency keeps the events that took longer than --latency-monitor-threshold. LATENCY shows them.
package latency

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// Monitor keeps the long latencies of each kind of event: [Command] and so on. Its methods may be called from any
// goroutine.
type Monitor struct {
	settings *atomic.Pointer[config.Config]
	clock    *clock.Clock

	mu     sync.Mutex
	events map[string]*event
}

type event struct {
	history []command.LatencyEvent // the oldest first
	longest int64                  // milliseconds
}

// maxHistory bounds the history of an event, as in Redis.
const maxHistory = 160

// The kinds of events.
const (
	Command   = "command"
	EventLoop = "event-loop"
	ExpireKey = "expire-cycle"
)

// New returns a monitor without events. The settings may be replaced while it is in use.
func New(settings *atomic.Pointer[config.Config], clock *clock.Clock) *Monitor {
	return &Monitor{settings: settings, clock: clock, events: make(map[string]*event)}
}

// Note adds an event if it took at least as long as the threshold.
func (m *Monitor) Note(name string, nanos int64) {
	threshold := m.settings.Load().LatencyMillis
	millis := nanos / int64(time.Millisecond)
	if threshold == 0 || millis < int64(threshold) {
		return
	}
	second := m.clock.Now() / int64(time.Second)
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.events[name]
	if e == nil {
		e = &event{}
		m.events[name] = e
	}
	e.longest = max(e.longest, millis)
	if n := len(e.history); n > 0 && e.history[n-1].UnixSec == second {
		e.history[n-1].Millis = max(e.history[n-1].Millis, millis)
		return
	}
	if len(e.history) >= maxHistory {
		e.history = append(e.history[:0], e.history[1:]...)
	}
	e.history = append(e.history, command.LatencyEvent{UnixSec: second, Millis: millis})
}

// LatencyEvents implements [command.Observer].
func (m *Monitor) LatencyEvents() (summaries []command.LatencySummary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.events)) {
		e := m.events[name]
		summaries = append(summaries, command.LatencySummary{Event: name, Latest: e.history[len(e.history)-1],
			Longest: e.longest})
	}
	return summaries
}

// LatencyHistory implements [command.Observer].
func (m *Monitor) LatencyHistory(name string) []command.LatencyEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.events[name]; e != nil {
		return slices.Clone(e.history)
	}
	return nil
}

// ResetLatency implements [command.Observer].
func (m *Monitor) ResetLatency(names []string) (forgotten int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.events)
	maps.DeleteFunc(m.events, func(name string, _ *event) bool {
		return len(names) == 0 || slices.Contains(names, name)
	})
	return before - len(m.events)
}
