package server

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
)

// With --denial-events, denials are lines of the log that name the limit and its key, as --top-keys shows keys.
func TestDenialEvents(t *testing.T) {
	var out bytes.Buffer
	p := newSessionPlayer(t, 0, func(c *config.Config) { c.DenialEvents = 1000 })
	p.env.Denials.Log = slog.New(slog.NewTextHandler(&out, nil))
	c := p.open("")
	run := func(commands ...string) []string {
		out.Reset()
		for _, command := range commands {
			p.Advance(time.Millisecond)
			c.deliver(frames(command))
		}
		text := regexp.MustCompile(`(?m)^time=\S+ level=INFO msg=denied rate_limit.decision=denied rate_limit.`).ReplaceAllString(out.String(), "")
		return strings.Split(strings.TrimSpace(strings.ReplaceAll(text, " rate_limit.", " ")), "\n")
	}
	got := run("TB.ACQUIRE k 1 1/h", "TB.ACQUIRE k 1 1/h", "TB.ACQUIRE k 1 1/h PEEK", "TB.ACQUIRE k 1 1/h 5",
		"RL.ALL FW one 9 1h CC two 1 1m me", "RL.ALL FW one 9 1h CC two 1 1m you",
		"RL.POLICY SET api TB user:{} 9 1/h TB org:{org} 1 1/h", "RL.CHECK api x 1 WITH org acme", "RL.CHECK api y 1 WITH org acme",
		"RL.POLICY SET api TB user:{} 9 1/h SHADOW", "RL.CHECK api x 20", "TB.ACQUIRE k x",
		"RL.ALL TB more 9 1/h FW less 5 1h TOKENS 3 AS call FOR 1h", "RL.EXTEND call 1 4", "TB.ACQUIRE k 1 1/h AS other FOR 1h")
	if want := []string{
		"rejected_by=token-bucket command=TB.ACQUIRE key=k limit=1 remaining=0 tokens=1 wait_ms=3599999 left_out=0",
		"rejected_by=token-bucket command=TB.ACQUIRE key=k limit=1 remaining=0 tokens=5 wait_ms=-1 left_out=0",
		"rejected_by=concurrency command=RL.ALL key=two limit=1 remaining=0 tokens=1 wait_ms=59999 left_out=0",
		"rejected_by=api:1 command=RL.CHECK policy=api key=org:acme limit=1 remaining=0 tokens=1 wait_ms=3599999 left_out=0",
		"rejected_by=fixed-window command=RL.EXTEND key=less limit=5 remaining=2 tokens=4 wait_ms=3599999 left_out=0",
		"rejected_by=token-bucket command=TB.ACQUIRE key=k limit=1 remaining=0 tokens=1 wait_ms=3599986 left_out=0",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p.env.Settings.Load().TopKeys = "hashed"
	if got := run("TB.ACQUIRE k 1 1/h"); !strings.Contains(got[0], " key="+p.HashKey([]byte("k"))+" ") {
		t.Errorf("%q", got)
	}
	p.env.Settings.Load().TopKeys = "off"
	if got := run("TB.ACQUIRE k 1 1/h"); strings.Contains(got[0], "key=") || !strings.Contains(got[0], "rejected_by") {
		t.Errorf("%q", got)
	}
	c.deliver(frames("TB.ACQUIRE k 1 1/h", "TB.ACQUIRE k 1 1/h", "TB.ACQUIRE k 1 1/h"))
	if m := p.MetricsSnapshot(); m.DenialsWritten != 8 || m.DenialsLeftOut != 3 {
		t.Errorf("%d written, %d left out", m.DenialsWritten, m.DenialsLeftOut)
	}
	p.env.Settings.Load().DenialEvents = 0
	if got := run("TB.ACQUIRE k 1 1/h"); got[0] != "" {
		t.Errorf("%q", got)
	}
}
