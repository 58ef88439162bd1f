package latency

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// Events below the threshold are not noted, those of a second are one, and a history has an end.
func TestEvents(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var settings atomic.Pointer[config.Config]
	cfg := config.Default()
	settings.Store(&cfg)
	c := clocktest.New(start)
	m := New(&settings, c.Clock)
	m.Note(Command, int64(time.Hour))
	if len(m.LatencyEvents()) != 0 {
		t.Error("noted although the threshold is 0")
	}
	next := cfg
	next.LatencyMillis = 10
	settings.Store(&next)
	m.Note(Command, int64(9*time.Millisecond))
	for i := range 200 {
		m.Note(Command, int64(10*time.Millisecond))
		m.Note(Command, int64(i+10)*int64(time.Millisecond))
		c.Advance(time.Second)
	}
	m.Note(EventLoop, int64(20*time.Millisecond))
	second := start.Unix()
	if got, want := fmt.Sprint(m.LatencyEvents()), fmt.Sprintf("[{command {%d 209} 209} {event-loop {%d 20} 20}]", second+199, second+200); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if h := m.LatencyHistory(Command); len(h) != maxHistory || h[0] != (command.LatencyEvent{UnixSec: second + 40, Millis: 50}) {
		t.Errorf("%d from %v on", len(h), h[0])
	}
	if m.ResetLatency([]string{Command}) != 1 || len(m.LatencyEvents()) != 1 || m.ResetLatency(nil) != 1 {
		t.Error("not forgotten")
	}
}
