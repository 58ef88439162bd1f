package server

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/monitor"
)

// do executes commands on a separate connection and returns the replies.
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

// A command behind one whose decision takes longer is offered twice to the session, and seen once.
func TestMonitorSeesCommandsOnce(t *testing.T) {
	p := newLaterPlayer(t, 0)
	p.do(t, "watcher", "MONITOR")
	p.do(t, "client", "TB.ACQUIRE key 10 1/1s", "PING")
	if seen := p.conns["watcher"].sent.String(); strings.Count(seen, `"PING"`) != 1 {
		t.Errorf("%q", seen)
	}
}

// A watching connection that does not read loses lines, not the server time; and it gets their number.
func TestMonitorIsBounded(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "watcher", "MONITOR")
	watcher := p.conns["watcher"]
	watcher.Attach(stuckLink{}, nil)
	for range 40 {
		p.do(t, "client", "ECHO "+strings.Repeat("x", 60_000))
	}
	if n := watcher.Usage().Backlog; n > monitor.MaxBacklogBytes || n < monitor.MaxBacklogBytes/2 {
		t.Errorf("a backlog of %d bytes", n)
	}
	dropped := p.env.Monitors.Dropped()
	if dropped == 0 {
		t.Fatal("nothing was left out")
	}
	watcher.Attach(watcher, nil)
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
	if n := p.env.Monitors.Count(); n != 0 {
		t.Errorf("%d watch after RESET", n)
	}
}

// MONITOR shows the calls of a script after the script, up to as many bytes as a backlog has.
func TestMonitorShowsCallsOfScripts(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "watcher", "MONITOR")
	p.do(t, "client", "EVAL return{redis.call('SET',KEYS[1],'1'),redis.call('PING')} 1 k")
	watcher := p.conns["watcher"]
	lines := strings.Split(strings.TrimSuffix(watcher.sent.String(), "\r\n"), "\r\n")
	if n := len(lines); n < 3 || !strings.Contains(lines[n-3], ` "EVAL" `) ||
		!strings.HasSuffix(lines[n-2], ` [0 lua] "SET" "k" "1"`) || !strings.HasSuffix(lines[n-1], ` [0 lua] "PING"`) {
		t.Errorf("%q", lines)
	}
	const calls = 30
	watcher.Attach(stuckLink{}, nil)
	p.conns["client"].deliver(frame("EVAL", fmt.Sprintf("for i = 1, %d do redis.call('ECHO', ARGV[1]) end", calls), "0",
		strings.Repeat("x", monitor.MaxBacklogBytes/20)))
	if n := watcher.Usage().Backlog; n > monitor.MaxBacklogBytes {
		t.Errorf("a backlog of %d bytes", n)
	}
	if n := p.env.Monitors.Dropped(); n < calls-20 || n >= calls {
		t.Errorf("%d calls were left out", n)
	}
}

type stuckLink struct{}

func (stuckLink) Write(b []byte) (int, error)      { return len(b), nil }
func (stuckLink) WriteFinal(b []byte) (int, error) { return len(b), nil }
func (stuckLink) Unsent() int                      { return monitor.MaxUnsent + 1 }

func TestMonitorsAreFew(t *testing.T) {
	p := newSessionPlayer(t, 0)
	for i := range monitor.MaxMonitors {
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

// SLOWLOG keeps a bounded number of entries, of bounded size, without secrets.
func TestSlowlogIsBounded(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "a", "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 3")
	p.do(t, "a", "DEL "+strings.Repeat("k ", 100), "ECHO "+strings.Repeat("x", 1000))
	p.do(t, "a", "ATUH secret", "AUTH secret")
	p.do(t, "a", strings.TrimSuffix(strings.Repeat("TB.ACQUIRE k 1 1/m\n", 1), "\n"), "TB.ACQUIRE k 1 1/m")
	entries := p.env.SlowLog.SlowCommands(-1)
	if len(entries) != 3 || p.env.SlowLog.SlowCount() != 3 {
		t.Fatalf("%d entries", len(entries))
	}
	if last := entries[0].Args; last[0] != "TB.ACQUIRE" || last[len(last)-1] != "... (1 more commands in the pipeline)" {
		t.Errorf("%q", last)
	}
	if secret := entries[1].Args; secret[0] != "ATUH" || secret[1] != "(redacted)" {
		t.Errorf("%q", secret)
	}
	if many := entries[2].Args; len(many) != 32+1 || many[32-1] != "... (70 more arguments)" {
		t.Errorf("%d words: %q", len(many), many)
	}
	p.do(t, "a", "CONFIG SET slowlog-max-len 1")
	p.do(t, "a", "ECHO "+strings.Repeat("x", 1000))
	if entries = p.env.SlowLog.SlowCommands(-1); len(entries) != 1 || entries[0].Args[1] != strings.Repeat("x", 128)+"... (872 more bytes)" {
		t.Errorf("%v", entries)
	}
}

// At level info no log message holds a key, after any command.
func TestNoKeysInLogs(t *testing.T) {
	var log testlog.Log
	h := newHost(t, nil, func(cfg *config.Config) { cfg.MaxClients = 2 })
	h.env.Log = log.Logger()
	h.env.Registry.Log = h.env.Log
	h.memory.Log = h.env.Log
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

// The list of the most denied keys has the keys of policies with the fields in them, also once the input is gone.
func TestDeniedKeysHaveTheirFields(t *testing.T) {
	for name, p := range map[string]*sessionPlayer{"at once": newSessionPlayer(t, 0), "later": newLaterPlayer(t, 0)} {
		p.do(t, "c", "RL.POLICY SET top TB top:{tenant}:{} 1 1/h")
		p.do(t, "c", "TB.ACQUIRE k 5 1/s", "RL.CHECK top 7 2 WITH tenant a:b", "RL.CHECK top 7 2 WITH tenant c")
		for _, key := range []string{"top:a%3Ab:7", "top:c:7"} {
			if out := p.do(t, "c", "RL.TOP"); !strings.Contains(out, key) {
				t.Errorf("%s: %q does not have %s", name, out, key)
			}
		}
		p.store.Close()
	}
}
