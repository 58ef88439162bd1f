package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/server/stats"
)

// A settlement needs the rights to the id and to the keys of all its limits, alone, in a transaction, and behind the
// request in one batch.
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
		{"in a transaction", "ids", noKey, []string{"MULTI", "RL.CANCEL id:1", "EXEC"}},
		{"in a transaction, all rights", "all", "+OK\r\n+QUEUED\r\n*1\r\n*1\r\n*4\r\n:0", []string{"MULTI", "RL.CANCEL id:1", "EXEC"}},
		{"of an unknown id", "ids", "$-1\r\n", []string{"RL.CANCEL id:none"}},
		{"in one batch", "all", "*5\r\n:2\r\n:5\r\n:3\r\n:0\r\n:7200000\r\n*1\r\n*4\r\n:1", []string{"TB.ACQUIRE tb:2 5 1/h 2 AS id:2 FOR 1m", "RL.SETTLE id:2 1"}},
		{"in one transaction", "all", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*5\r\n:2\r\n:5\r\n:3\r\n:0\r\n:7200000\r\n*1\r\n*4\r\n:1", []string{"MULTI", "TB.ACQUIRE tb:2 5 1/h 2 AS id:2 FOR 1m", "RL.SETTLE id:2 1", "EXEC"}},
		{"extended", "all", "*5\r\n:1\r\n:-1\r\n:0\r\n*1\r\n*3\r\n:5\r\n:2\r\n:10800000\r\n:3\r\n*1\r\n*4\r\n:1", []string{"RL.EXTEND id:1 1 1", "RL.SETTLE id:1 1"}},
		{"no right to the limit, extend", "ids", noKey, []string{"RL.EXTEND id:1 1 1"}},
		{"no right to the id, extend", "limits", noKey, []string{"RL.EXTEND id:1 1 1"}},
		{"extended in a transaction", "ids", noKey, []string{"MULTI", "RL.EXTEND id:1 1 1", "EXEC"}},
		{"extended, of an unknown id", "ids", "$-1\r\n", []string{"RL.EXTEND id:none 1 1"}},
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
			if denied := p.env.Stats.RejectionCount(stats.KeyDenied) > 0; strings.HasPrefix(c.want, "-") != denied {
				t.Errorf("the denial of a key was counted: %t", denied)
			}
			if strings.HasPrefix(c.want, "-") && holdings(p) != before {
				t.Errorf("it changed %s\nto %s", before, holdings(p))
			}
		})
	}
}

// On a node that is behind the leader, a user with some keys settles what it has just reserved there, and what others
// reserved on keys of its own; and it settles nothing on other keys, also where the node knows the id with limits on
// its own.
func TestPermissionsOfReservationsOnANodeBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newClusterTimePlayer(t, false, soon, 0)
		owner, user := p.open("owner"), p.open("user")
		do := func(c *pipe, line, want string) {
			t.Helper()
			c.deliver(frames(line))
			p.settle()
			if out := c.reply(t); !strings.HasPrefix(out, want) {
				t.Errorf("%s: %q, want %q", line, out, want)
			}
		}
		for _, line := range []string{"ACL SETUSER limited on >tea ~id:* ~tb:* +@all", "RL.POLICY SET llm TB tb:{tenant}:{} 5 1/h"} {
			do(owner, line, "+OK")
		}
		do(user, "AUTH limited tea", "+OK")
		if err := p.catchUp(); err != nil {
			t.Fatal(err)
		}
		for i := 10; ; i++ { // an entry about something else may bring the node up to date
			had := p.store.Len()
			do(user, fmt.Sprintf("TB.ACQUIRE tb:%d 5 1/h 2 AS id:%d FOR 1h", i, i), "*5\r\n:2")
			isBehind := p.store.Len() == had
			do(user, fmt.Sprintf("RL.SETTLE id:%d 1", i), "*1\r\n*4\r\n:1")
			if isBehind {
				break
			}
			if i == 40 {
				t.Fatal("the node is never behind")
			}
			if err := p.catchUp(); err != nil {
				t.Fatal(err)
			}
		}
		do(user, "RL.CHECK llm 7 2 AS id:2 FOR 1h WITH tenant acme", "*4\r\n:2")
		do(user, "RL.CANCEL id:2", "*1\r\n*4\r\n:0")
		do(owner, "RL.ALL TB tb:1 5 1/h TB tb:2 5 1/h AS id:3 FOR 1h", "*4\r\n:1")
		do(user, "RL.SETTLE id:3 1", "*2\r\n*4\r\n:1")
		do(owner, "TB.ACQUIRE other 5 1/h 2 AS id:4 FOR 1h", "*5\r\n:2")
		do(user, "RL.CANCEL id:4", "-NOPERM No permissions to access a key")

		do(owner, "TB.ACQUIRE tb:5 5 1/h 2 AS id:5 FOR 1h", "*5\r\n:2")
		if err := p.catchUp(); err != nil {
			t.Fatal(err)
		}
		do(owner, "DEL id:5", ":1")
		do(owner, "TB.ACQUIRE other 5 1/h AS id:5 FOR 1h", "*5\r\n:1")
		do(user, "RL.CANCEL id:5", "-NOPERM No permissions to access a key")
		do(owner, "RL.CANCEL id:5", "*1\r\n*4\r\n:0")
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// RL.TOP counts a denied request with an id for the key of the limit that denied it.
func TestTopCountsDeniedReservations(t *testing.T) {
	p := newSessionPlayer(t, 0)
	defer p.store.Close()
	c := p.open("client")
	c.deliver(frames("RL.POLICY SET p TB user:{} 1 1/h", "TB.ACQUIRE one 1 1/h 2 AS id:1 FOR 1m", "RL.ALL TB wide 5 1/h TB narrow 1 1/h TOKENS 2 AS id:2 FOR 1m", "RL.CHECK p 7 2 AS id:3 FOR 1m",
		"RL.ALL TB wide 5 1/h TB small 2 1/h AS id:4 FOR 1m", "RL.EXTEND id:4 1 2", "RL.EXTEND id:none 1 2"))
	c.reply(t)
	c.deliver(frames("RL.TOP"))
	out := c.reply(t)
	for _, key := range []string{"one", "narrow", "user:7", "small"} {
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
