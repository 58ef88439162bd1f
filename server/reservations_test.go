package server

import (
	"strings"
	"testing"
)

// A settlement needs the rights to the id and to the keys of all its limits, alone, in a transaction, and behind the request
// in one batch.
func TestPermissionsOfReservations(t *testing.T) {
	const noKey = "-NOPERM No permissions to access a key"
	for _, c := range []struct {
		name, user, want string
		commands         []string
	}{
		{"all rights", "all", "*1\r\n*4\r\n:1", []string{"RL.SETTLE id:1 1"}},
		{"no right to the limit", "ids", noKey, []string{"RL.SETTLE id:1 1"}},
		{"no right to the limit, cancel", "ids", noKey, []string{"RL.CANCEL id:1"}},
		{"no right to the id", "limits", noKey, []string{"RL.SETTLE id:1 1"}},
		{"no right to the id, cancel", "limits", noKey, []string{"RL.CANCEL id:1"}},
		{"no right to the id, acquire", "limits", noKey, []string{"TB.ACQUIRE tb:1 5 1/h AS id:2 FOR 1m"}},
		{"in a transaction", "ids", noKey, []string{"MULTI", "RL.CANCEL id:1"}},
		{"in a transaction, all rights", "all", "+OK\r\n+QUEUED\r\n*1\r\n*1\r\n*4\r\n:0", []string{"MULTI", "RL.CANCEL id:1", "EXEC"}},
		{"of an unknown id", "ids", "$-1\r\n", []string{"RL.CANCEL id:none"}},
		{"in one batch", "all", "*5\r\n:2\r\n:5\r\n:3\r\n:0\r\n:7200000\r\n*1\r\n*4\r\n:1", []string{"TB.ACQUIRE tb:2 5 1/h 2 AS id:2 FOR 1m", "RL.SETTLE id:2 1"}},
		{"in one transaction", "all", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*5\r\n:2\r\n:5\r\n:3\r\n:0\r\n:7200000\r\n*1\r\n*4\r\n:1", []string{"MULTI", "TB.ACQUIRE tb:2 5 1/h 2 AS id:2 FOR 1m", "RL.SETTLE id:2 1", "EXEC"}},
		{"of several limits, a policy and fields", "all", "*4\r\n:2\r\n:-1\r\n:0\r\n*1\r\n*3\r\n:5\r\n:3\r\n:7200000\r\n*1\r\n*4\r\n:1", []string{"RL.CHECK llm 7 2 AS id:2 FOR 1m WITH tenant acme", "RL.SETTLE id:2 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newLoginPlayer(t)
			defer p.store.Close()
			owner := p.open("192.0.2.1:1")
			owner.deliver(frames("AUTH tea", "ACL SETUSER ids on >tea ~id:* +@all", "ACL SETUSER limits on >tea ~tb:* +@all", "ACL SETUSER all on >tea ~id:* ~tb:* +@all",
				"RL.POLICY SET llm TB tb:{tenant}:{} 5 1/h", "TB.ACQUIRE tb:1 5 1/h 2 AS id:1 FOR 1m"))
			if out := owner.reply(t); strings.Contains(out, "-") {
				t.Fatalf("preparing: %q", out)
			}
			s := p.open("192.0.2.2:1")
			s.deliver(frames("AUTH " + c.user + " tea"))
			s.reply(t)
			before := holdings(p)
			s.deliver(frames(c.commands...))
			out := s.reply(t)
			if !strings.Contains(out, c.want) || !strings.HasPrefix(c.want, "-") && !strings.HasPrefix(out, c.want) {
				t.Errorf("%q, want %q", out, c.want)
			}
			if strings.HasPrefix(c.want, "-") && holdings(p) != before {
				t.Errorf("it changed %s\nto %s", before, holdings(p))
			}
		})
	}
}

// RL.TOP counts a denied request with an id for the key of the limit that denied it.
func TestTopCountsDeniedReservations(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.store.Close()
	c := p.open("client")
	c.deliver(frames("RL.POLICY SET p TB user:{} 1 1/h", "TB.ACQUIRE one 1 1/h 2 AS id:1 FOR 1m", "RL.ALL TB wide 5 1/h TB narrow 1 1/h TOKENS 2 AS id:2 FOR 1m", "RL.CHECK p 7 2 AS id:3 FOR 1m"))
	c.reply(t)
	c.deliver(frames("RL.TOP"))
	out := c.reply(t)
	for _, key := range []string{"one", "narrow", "user:7"} {
		if !strings.Contains(out, "\r\n"+key+"\r\n") {
			t.Errorf("%s is not in %q", key, out)
		}
	}
	for _, key := range []string{"id:", "wide"} {
		if strings.Contains(out, key) {
			t.Errorf("%s is in %q", key, out)
		}
	}
}
