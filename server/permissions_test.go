package server

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/command"
)

// strangers are the users of the test; the golden file has the reply to each.
var strangers = []struct{ name, login string }{
	{"not logged in", ""},
	{"no rights", "AUTH nobody tea"},
	{"limited", "AUTH me tea"}, // all commands but the dangerous ones and those for operators, on keys that begin with mine:
}

const accessFile = "testdata/access.txt"

// TestAccess sends the Example of every command as users without the rights to it. It compares the replies with
// testdata/access.txt, and the server's state before and after. The examples name what belongs to somebody else: the
// key alice:1, the policy private, and the client and the user alice. Only keys that begin with mine: are the user's.
func TestAccess(t *testing.T) {
	var got bytes.Buffer
	got.WriteString("# What a client without rights is answered, command by command; made by go test ./server -run TestAccess -update.\n")
	for _, row := range command.All {
		if row.IsContainer() {
			continue
		}
		line := strings.TrimSpace(strings.ToUpper(strings.ReplaceAll(row.FullName, "|", " ")) + " " + row.Example)
		fmt.Fprintf(&got, "\n> %s\n", line)
		for _, who := range strangers {
			fmt.Fprintf(&got, "%-13s  %s\n", who.name, tryAs(t, who.login, line))
		}
	}
	if *update {
		if err := os.WriteFile(accessFile, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(accessFile)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n"); got.String() != string(want) {
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				t.Fatalf("line %d of %s\nnow  %s\nthen %s\nif that is right, run go test ./server -run TestAccess -update", i+1, accessFile, g[i], w[min(i, len(w)-1)])
			}
		}
		t.Fatalf("%s has more lines than there are", accessFile)
	}
}

// varies are parts of answers that differ from run to run.
var varies = regexp.MustCompile(`\b[0-9a-f]{40,64}\b|[0-9]+`)

// tryAs returns the reply to a command, on one line, and truncated.
func tryAs(t *testing.T, login, line string) string {
	t.Helper()
	p := newLoginPlayer(t)
	defer p.store.Close()
	owner := p.open("192.0.2.1:1")
	owner.deliver(frames("AUTH tea", "CLIENT SETNAME alice", "ACL SETUSER alice on >secret ~* +@all", "ACL SETUSER nobody on >tea",
		"ACL SETUSER me on >tea ~mine:* +@all -@dangerous -@admin", "TB.ACQUIRE alice:1 5 1/h", "TB.ACQUIRE mine:2 5 1/h", "RL.POLICY SET private TB alice:{} 5 1/h"))
	if out := owner.reply(t); strings.Contains(out, "-") && strings.Contains(out, "ERR") {
		t.Fatalf("preparing: %q", out)
	}
	c := p.open("192.0.2.2:1")
	if login != "" {
		c.deliver(frames(login))
		if out := c.reply(t); out != "+OK\r\n" {
			t.Fatalf("%s: %q", login, out)
		}
	}
	before := holdings(p)
	c.deliver(frames(line))
	answer := c.reply(t)
	if after := holdings(p); after != before && !strings.Contains(after, "mine:") {
		t.Errorf("%s, %q: the server held\n%s\nand now\n%s", login, line, before, after)
	}
	if owner.closed {
		t.Errorf("%s, %q closed somebody else's connection", login, line)
	}
	for _, secret := range []string{"alice", "192.0.2.1", "2bb80d53"} { // names, addresses, the hash of the password secret
		if strings.Contains(answer, secret) && !strings.Contains(line, secret) {
			t.Errorf("%s, %q: the answer tells of %s: %.300q", login, line, secret, answer)
		}
	}
	answer = strings.TrimSuffix(answer, "\r\n")
	if !strings.HasPrefix(answer, "-") {
		answer = varies.ReplaceAllString(answer, "#")
	}
	if len(answer) > 100 {
		answer = answer[:40] + "…"
	}
	if c.closed {
		answer += " (closed)"
	}
	return strings.TrimSpace(strings.ReplaceAll(answer, "\r\n", " "))
}

// holdings is all that strangers must not change: other keys, policies, users and settings.
func holdings(p *sessionPlayer) string {
	var out strings.Builder
	p.store.Dump(p.clock.Now(), func(e keyspace.Entry) {
		if !bytes.HasPrefix(e.Key, []byte("mine:")) {
			fmt.Fprintf(&out, "%q %v %x\n", e.Key, e.Limit, e.State)
		}
	})
	p.store.PolicyOps(func(op *engine.Op) { fmt.Fprintf(&out, "%+v\n", *op) })
	fmt.Fprintf(&out, "%q\n%q\n%v", p.env.Users.Lines(), p.ConfigGet([]string{"*"}), p.env.Draining.Load())
	return out.String()
}

// FuzzStranger sends arbitrary bytes as users with few or no permissions: they change nothing that they
// may not change.
func FuzzStranger(f *testing.F) {
	for _, in := range []string{"RL.ALL TB mine:1 5 1/h TB alice:1 5 1/h\r\n", "MULTI\r\nDEL alice:1\r\nEXEC\r\n", "RESET\r\nAUTH x\r\nFLUSHALL\r\n",
		"HELLO 3 AUTH me tea\r\nRL.CHECK private 1\r\n", "SCAN 0\r\nKEYS *\r\nRANDOMKEY\r\n", "TB.ACQUIRE mine:1 5 1/h BLOCK 5s\r\nDEL alice:1\r\n"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(bytes.ToLower(in), []byte("tea")) {
			return // it guessed a password
		}
		for _, who := range strangers {
			p := newLoginPlayer(t)
			owner := p.open("192.0.2.1:1")
			owner.deliver(frames("AUTH tea", "ACL SETUSER nobody on >tea", "ACL SETUSER me on >tea ~mine:* +@all -@dangerous -@admin",
				"TB.ACQUIRE alice:1 5 1/h", "RL.POLICY SET private TB alice:{} 5 1/h"))
			c := p.open("192.0.2.2:1")
			if who.login != "" {
				c.deliver(frames(who.login))
			}
			before := holdings(p)
			c.deliver(in)
			if after := holdings(p); after != before {
				t.Fatalf("%s: the server held\n%s\nand now\n%s", who.name, before, after)
			}
			p.store.Close()
		}
	})
}

// prepared is a player on which the owner has sent commands, all of which were carried out.
func prepared(t *testing.T, commands ...string) *sessionPlayer {
	t.Helper()
	p := newLoginPlayer(t)
	t.Cleanup(p.store.Close)
	owner := p.open("192.0.2.1:1")
	owner.deliver(frames(append([]string{"AUTH tea"}, commands...)...))
	if out := owner.reply(t); strings.Contains(out, "-") {
		t.Fatalf("preparing: %q", out)
	}
	return p
}

// as sends a command as a user, on a new connection, and returns the reply.
func (p *sessionPlayer) as(t *testing.T, user string, command []byte) string {
	t.Helper()
	s := p.open("192.0.2.2:1")
	s.deliver(append(frames("AUTH "+user+" tea"), command...))
	return strings.TrimPrefix(s.reply(t), "+OK\r\n")
}

// A user names only those members of a fair share whose keys it may use, however it asks.
func TestPermissionsOfMembers(t *testing.T) {
	p := prepared(t, "ACL SETUSER alice on >tea ~llm ~llm:alice ~id +@all", "ACL SETUSER gateway on >tea ~llm* +@all", "RL.POLICY SET quota FS llm 10 1/h {}")
	const noKey, noPolicy = "-NOPERM No permissions to access a key", "-NOPERM no such policy"
	for _, c := range []struct{ user, command, want string }{
		{"alice", "FS.ACQUIRE llm 10 1/h alice", "*5\r\n:1\r\n"},
		{"alice", "FS.ACQUIRE llm 10 1/h bob", noKey},
		{"alice", "FS.ACQUIRE llm 10 1/h alice:2", noKey},
		{"alice", "FS.ACQUIRE llm 10 1/h bob PEEK", noKey},
		{"alice", "RL.ALL FS llm 10 1/h bob", noKey},
		{"alice", "RL.ALL FS llm 10 1/h bob AS id FOR 1m", noKey},
		{"alice", "RL.ALL FS llm 10 1/h alice", "*"},
		{"alice", "RL.CHECK quota alice", "*"},
		{"alice", "RL.CHECK quota bob", noPolicy},
		{"alice", "FS.MEMBERS llm", "*"},
		{"gateway", "FS.ACQUIRE llm 10 1/h bob", "*5\r\n:1\r\n"},
		{"gateway", "RL.CHECK quota bob", "*"},
	} {
		if out := p.as(t, c.user, frames(c.command)); !strings.HasPrefix(out, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.user, c.command, out, c.want)
		}
	}
}

// The keys of a check are looked at with its fields in them, and values cannot lead out of a pattern. A field that is
// missing stays as it stands, so that nobody learns the fields of policies out of reach.
func TestPermissionsOfChecksWithFields(t *testing.T) {
	p := prepared(t, "ACL SETUSER acme on >tea ~tpm:acme:* +@all", "ACL SETUSER models on >tea ~tpm:* +@all", "RL.POLICY SET llm TB tpm:{tenant}:{} 5 1/h")
	const denied, granted = "-NOPERM no such policy", "*4\r\n:1\r\n"
	for _, c := range []struct{ user, command, want string }{
		{"acme", "RL.CHECK llm 7 WITH tenant acme", granted},
		{"acme", "RL.CHECK llm 7 WITH tenant acme:7", denied},
		{"acme", "RL.CHECK llm 7 WITH tenant globex", denied},
		{"acme", "RL.CHECK llm acme:7 WITH tenant \"\"", denied},
		{"acme", "RL.CHECK llm 7", denied},
		{"acme", "RL.CHECK nothing 7 WITH tenant acme", denied},
		{"acme", "RL.CHECK llm 7 WITH tenant acme region eu", "-ERR WITH: no limit of the policy asks for the field 'region'"},
		{"acme", "RL.POLICY GET llm 7", "$-1\r\n"},
		{"acme", "RL.POLICY LIST", "*0\r\n"},
		{"models", "RL.CHECK llm 7", "-ERR WITH: the policy needs the field 'tenant'"},
		{"models", "RL.CHECK llm 7 WITH tenant globex", granted},
		{"models", "RL.POLICY GET llm 7", "*14\r\n"},
		{"models", "RL.POLICY LIST", "*1\r\n$3\r\nllm\r\n"},
		{"models", "RL.POLICY SET llm TB {tenant} 5 1/h", "-NOPERM"},
	} {
		if out := p.as(t, c.user, frames(c.command)); !strings.HasPrefix(out, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.user, c.command, out, c.want)
		}
	}
}

// A script of a user names only members whose keys it declares, so only those that the user may use.
func TestPermissionsOfMembersInScripts(t *testing.T) {
	p := prepared(t, "ACL SETUSER alice on >tea ~llm ~llm:alice +@all")
	const undeclared, noKey = "can't access at least one of the keys", "NOPERM No permissions to access a key"
	for _, c := range []struct {
		user, member string
		keys         []string
		want         string
	}{
		{"alice", "alice", []string{"llm", "llm:alice"}, "*5\r\n:1\r\n"},
		{"alice", "alice", []string{"llm"}, undeclared},
		{"alice", "bob", []string{"llm"}, undeclared},
		{"alice", "bob", []string{"llm", "llm:alice"}, undeclared},
		{"alice", "bob", []string{"llm", "llm:bob"}, noKey},
		{"default", "bob", []string{"llm"}, "*5\r\n:1\r\n"},
	} {
		script := append([]string{"EVAL", "return redis.call('FS.ACQUIRE', KEYS[1], 10, '1/h', ARGV[1])", strconv.Itoa(len(c.keys))}, c.keys...)
		if out := p.as(t, c.user, frame(append(script, c.member)...)); !strings.Contains(out, c.want) {
			t.Errorf("%s as member %s with %v: %q, want %q", c.user, c.member, c.keys, out, c.want)
		}
	}
}
