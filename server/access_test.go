package server

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// commandExamples is a call of every command, as a stranger would try it: on the key, policy, client or user of somebody
// else where it can name one. The key zq9:1, the policy private, the client named other and the user other are there.
var commandExamples = map[string]string{
	"cl.throttle": "zq9:1 4 1 60", "tb.acquire": "zq9:1 5 1/h", "lb.acquire": "zq9:2 5 1/h", "lb.queue": "zq9:3 5 1/h", "fw.acquire": "zq9:4 5 1h",
	"sw.acquire": "zq9:5 5 1h", "sl.acquire": "zq9:6 5 1h", "cc.acquire": "zq9:7 5 1h me", "cc.release": "zq9:7 me", "cc.holders": "zq9:7",
	"rl.all": "TB mine:1 5 1/h TB zq9:1 5 1/h", "rl.check": "private 1", "rl.policy|set": "private TB mine:{} 1 1/h", "rl.policy|get": "private",
	"rl.policy|del": "private", "rl.policy|list": "", "rl.policy|override": "private 1 NONE", "rl.policy|help": "", "rl.info": "zq9:1",
	"rl.refund": "zq9:1 1", "rl.top": "", "del": "zq9:1", "unlink": "zq9:1", "exists": "zq9:1", "ttl": "zq9:1", "pttl": "zq9:1", "type": "zq9:1",
	"scan": "0", "keys": "*", "randomkey": "", "dbsize": "", "flushdb": "", "flushall": "", "multi": "", "exec": "", "discard": "", "ping": "", "echo": "x",
	"hello": "2", "auth": "zq9 wrong", "select": "0", "quit": "", "reset": "", "readonly": "", "readwrite": "", "time": "",
	"client|id": "", "client|getname": "", "client|setname": "x", "client|setinfo": "LIB-NAME x", "client|info": "", "client|list": "",
	"client|kill": "ID 1", "client|no-evict": "ON", "client|no-touch": "ON", "client|reply": "ON", "client|tracking": "ON", "client|caching": "YES", "client|help": "",
	"acl|cat": "", "acl|deluser": "zq9", "acl|genpass": "", "acl|getuser": "zq9", "acl|list": "", "acl|load": "", "acl|log": "", "acl|save": "",
	"acl|setuser": "me +@all", "acl|users": "", "acl|whoami": "", "acl|help": "", "info": "", "config|get": "*", "config|set": "requirepass x",
	"config|rewrite": "", "config|resetstat": "", "config|help": "", "memory|usage": "zq9:1", "memory|stats": "", "memory|malloc-stats": "", "memory|doctor": "", "memory|purge": "",
	"memory|help": "", "save": "", "bgsave": "", "lastsave": "", "role": "", "wait": "0 0", "shutdown": "NOW", "slowlog|get": "", "slowlog|len": "",
	"slowlog|reset": "", "slowlog|help": "", "latency|latest": "", "latency|history": "command", "latency|graph": "command", "latency|reset": "", "latency|histogram": "",
	"latency|doctor": "", "latency|help": "", "monitor": "", "cluster|slots": "", "cluster|shards": "", "cluster|nodes": "", "cluster|replicas": "x",
	"cluster|info": "", "cluster|myid": "", "cluster|myshardid": "", "cluster|keyslot": "zq9:1", "cluster|help": "", "raft|info": "", "raft|nodes": "",
	"raft|add": "x 127.0.0.1:1", "raft|remove": "x", "raft|transfer": "", "raft|snapshot": "", "raft|help": "", "command": "", "command|count": "",
	"command|info": "get", "command|docs": "get", "command|list": "", "command|getkeys": "del zq9:1", "command|help": "",
}

// strangers are who tries, and the golden file says what each is answered.
var strangers = []struct{ name, login string }{
	{"not logged in", ""},
	{"no rights", "AUTH nobody tea"},
	{"limited", "AUTH me tea"}, // all but what is dangerous or for operators, on keys that begin with mine:
}

const accessFile = "testdata/access.txt"

// TestAccess has strangers try every command there is and compares what they are answered with testdata/access.txt, and
// what the server holds with what it held. A command without an example here, or an answer that is not written down
// there, fails: whoever adds a command has to say what strangers see of it.
func TestAccess(t *testing.T) {
	var got bytes.Buffer
	got.WriteString("# What a client without rights is answered, command by command; made by go test ./server -run TestAccess -update.\n")
	for _, row := range command.All {
		if row.IsContainer() {
			continue
		}
		args, known := commandExamples[row.FullName]
		if !known {
			t.Errorf("%s has no example in access_test.go", row.FullName)
			continue
		}
		line := strings.TrimSpace(strings.ToUpper(strings.ReplaceAll(row.FullName, "|", " ")) + " " + args)
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

// tryAs is what a command is answered, on one line, and cut short.
func tryAs(t *testing.T, login, line string) string {
	t.Helper()
	p := newLoginPlayer(t)
	defer p.store.Close()
	owner := p.open("192.0.2.1:1")
	owner.deliver(frames("AUTH tea", "CLIENT SETNAME zq9", "ACL SETUSER zq9 on >secret ~* +@all", "ACL SETUSER nobody on >tea",
		"ACL SETUSER me on >tea ~mine:* +@all -@dangerous -@admin", "TB.ACQUIRE zq9:1 5 1/h", "TB.ACQUIRE mine:2 5 1/h", "RL.POLICY SET private TB zq9:{} 5 1/h"))
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
	for _, secret := range []string{"zq9", "192.0.2.1", "2bb80d53"} { // names, addresses, the hash of the password secret
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
	p.store.Dump(p.clock.Now(), func(e engine.Entry) {
		if !bytes.HasPrefix(e.Key, []byte("mine:")) {
			fmt.Fprintf(&out, "%q %v %x\n", e.Key, e.Limit, e.State)
		}
	})
	p.store.PolicyOps(func(op *engine.Op) { fmt.Fprintf(&out, "%+v\n", *op) })
	fmt.Fprintf(&out, "%q\n%q\n%v", p.users.Lines(), p.ConfigGet([]string{"*"}), p.draining.Load())
	return out.String()
}

// FuzzStranger has bytes arrive from those who may do little or nothing: whatever they are, nothing is changed that they
// may not change.
func FuzzStranger(f *testing.F) {
	for _, in := range []string{"RL.ALL TB mine:1 5 1/h TB zq9:1 5 1/h\r\n", "MULTI\r\nDEL zq9:1\r\nEXEC\r\n", "RESET\r\nAUTH x\r\nFLUSHALL\r\n",
		"HELLO 3 AUTH me tea\r\nRL.CHECK private 1\r\n", "SCAN 0\r\nKEYS *\r\nRANDOMKEY\r\n", "TB.ACQUIRE mine:1 5 1/h BLOCK 5s\r\nDEL zq9:1\r\n"} {
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
				"TB.ACQUIRE zq9:1 5 1/h", "RL.POLICY SET private TB zq9:{} 5 1/h"))
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
