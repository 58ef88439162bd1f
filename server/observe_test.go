package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// do has commands carried out on a connection of their own and returns the replies.
func (p *sessionPlayer) do(t *testing.T, name string, commands ...string) string {
	t.Helper()
	c := p.conns[name]
	if c == nil {
		c = p.open(name)
	}
	c.sent.Reset()
	c.deliver(frames(commands...))
	return c.sent.String()
}

// A watching connection that does not read loses lines, not the server time; and it is told how many.
func TestMonitorIsBounded(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "watcher", "MONITOR")
	watcher := p.conns["watcher"]
	link := watcher.link
	watcher.link = stuckLink{}
	for range 40 {
		p.do(t, "client", "ECHO "+strings.Repeat("x", 60_000))
	}
	if n := len(watcher.monitor.lines); n > maxMonitorBytes || n < maxMonitorBytes/2 {
		t.Errorf("a backlog of %d bytes", n)
	}
	dropped := p.monitors.dropped.Load()
	if dropped == 0 {
		t.Fatal("nothing was left out")
	}
	watcher.link = link
	watcher.sent.Reset()
	p.do(t, "client", "PING")
	eventually(t, "the backlog has been sent", func() bool {
		p.settle()
		return strings.Contains(watcher.sent.String(), `"dropped"`)
	})
	lines := strings.Split(strings.TrimSuffix(watcher.sent.String(), "\r\n"), "\r\n")
	if want := fmt.Sprintf(`[0 stint] "monitor" "dropped" "%d"`, dropped); !strings.HasSuffix(lines[len(lines)-1], want) {
		t.Errorf("the last line is %.200q, want …%s", lines[len(lines)-1], want)
	}
	p.do(t, "watcher", "RESET")
	if n := p.monitors.count.Load(); n != 0 {
		t.Errorf("%d watch after RESET", n)
	}
}

type stuckLink struct{}

func (stuckLink) Write(b []byte) (int, error)     { return len(b), nil }
func (stuckLink) WriteLast(b []byte) (int, error) { return len(b), nil }
func (stuckLink) Unsent() int                     { return monitorUnsent + 1 }

func TestMonitorsAreFew(t *testing.T) {
	p := newSessionPlayer(t, 0)
	for i := range maxMonitors {
		if reply := p.do(t, fmt.Sprint("watcher", i), "MONITOR", "MONITOR"); reply != "+OK\r\n+OK\r\n" {
			t.Fatal(reply)
		}
	}
	if reply := p.do(t, "one more", "MONITOR"); reply != "-"+command.ErrTooManyMonitors.Error()+"\r\n" {
		t.Error(reply)
	}
	p.conns["watcher0"].hangUp()
	if reply := p.do(t, "one more", "MONITOR"); reply != "+OK\r\n" {
		t.Error(reply)
	}
}

// SLOWLOG keeps so many entries, of bounded size, without secrets.
func TestSlowlogIsBounded(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "a", "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 3")
	p.do(t, "a", "DEL "+strings.Repeat("k ", 100), "ECHO "+strings.Repeat("x", 1000))
	p.do(t, "a", "ATUH secret", "AUTH secret")
	p.do(t, "a", strings.TrimSuffix(strings.Repeat("TB.ACQUIRE k 1 1/m\n", 1), "\n"), "TB.ACQUIRE k 1 1/m")
	entries := p.SlowCommands(-1)
	if len(entries) != 3 || p.SlowCount() != 3 {
		t.Fatalf("%d entries", len(entries))
	}
	if last := entries[0].Args; last[0] != "TB.ACQUIRE" || last[len(last)-1] != "... (1 more commands in the pipeline)" {
		t.Errorf("%q", last)
	}
	if secret := entries[1].Args; secret[0] != "ATUH" || secret[1] != "(redacted)" {
		t.Errorf("%q", secret)
	}
	if many := entries[2].Args; len(many) != slowArgs+1 || many[slowArgs-1] != "... (70 more arguments)" {
		t.Errorf("%d words: %q", len(many), many)
	}
	p.do(t, "a", "CONFIG SET slowlog-max-len 1")
	p.do(t, "a", "ECHO "+strings.Repeat("x", 1000))
	if entries = p.SlowCommands(-1); len(entries) != 1 || entries[0].Args[1] != strings.Repeat("x", slowArgBytes)+"... (872 more bytes)" {
		t.Errorf("%v", entries)
	}
}

// Spikes below the threshold are not noted, those of a second are one, and a history has an end.
func TestSpikes(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.spike(eventCommand, int64(time.Hour))
	if len(p.Spikes()) != 0 {
		t.Error("noted although the threshold is 0")
	}
	p.do(t, "a", "CONFIG SET latency-monitor-threshold 10")
	p.spike(eventCommand, int64(9*time.Millisecond))
	for i := range 200 {
		p.spike(eventCommand, int64(10*time.Millisecond))
		p.spike(eventCommand, int64(i+10)*int64(time.Millisecond))
		p.Advance(time.Second)
	}
	p.spike(eventLoopLag, int64(20*time.Millisecond))
	start := testStart.Unix()
	if got, want := fmt.Sprint(p.Spikes()), fmt.Sprintf("[{command {%d 209} 209} {event-loop {%d 20} 20}]", start+199, start+200); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if h := p.SpikeHistory(eventCommand); len(h) != maxSpikes || h[0] != (command.Spike{UnixSec: start + 40, Millis: 50}) {
		t.Errorf("%d from %v on", len(h), h[0])
	}
	if doctor := p.do(t, "a", "LATENCY DOCTOR"); !strings.Contains(doctor, "event-loop: 20 ms") || !strings.Contains(doctor, "the longest 209 ms") {
		t.Error(doctor)
	}
	if p.ForgetSpikes([]string{"command"}) != 1 || len(p.Spikes()) != 1 || p.ForgetSpikes(nil) != 1 {
		t.Error("not forgotten")
	}
}

// At info no message holds a key, whatever is done with it.
func TestNoKeysInLogs(t *testing.T) {
	var log testlog.Log
	h := newHost(t, nil, func(cfg *config.Config) { cfg.MaxClients = 2 })
	h.log = log.Logger()
	stop := h.start(t)
	const key = "a-key-of-a-user"
	for _, row := range command.All {
		if row.IsContainer() || row.FullName == "shutdown" || row.FullName == "monitor" {
			continue
		}
		conn := h.dial(t)
		words := append(strings.Split(strings.ReplaceAll(row.FullName, "|", " "), " "), key, "1", "1/m")
		for len(words) < max(row.Arity(), -row.Arity()) {
			words = append(words, key)
		}
		_, _ = conn.Write(frame(words...))
		_, _ = conn.Write(frames("POST " + key))
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !log.Has("\n") {
		t.Error("nothing was logged")
	}
	if log.Has(key) {
		t.Errorf("a key in the log:\n%s", &log)
	}
}

// The name of a command with subcommands stands for all of them, as in Redis.
func TestLatencyHistogramOfSubcommands(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.Close()
	p.do(t, "a", "CLIENT ID", "CLIENT GETNAME", "PING")
	got := p.do(t, "a", "LATENCY HISTOGRAM client")
	if !strings.Contains(got, "client|id") || !strings.Contains(got, "client|getname") || strings.Contains(got, "ping") {
		t.Errorf("%q", got)
	}
}

func TestLatencyGraphOfEvents(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.Close()
	p.do(t, "a", "CONFIG SET latency-monitor-threshold 10")
	for _, millis := range []int64{12, 40, 9, 90} {
		p.spike(eventCommand, millis*1e6)
		p.Advance(time.Second)
	}
	if got := p.do(t, "a", "LATENCY GRAPH COMMAND"); !strings.Contains(got, "command - high 90 ms, low 12 ms (all time high 90 ms)\n") {
		t.Errorf("%q", got)
	}
	if got := p.do(t, "a", "LATENCY GRAPH expire-cycle"); got != "-ERR No samples available for event 'expire-cycle'\r\n" {
		t.Errorf("%q", got)
	}
}
