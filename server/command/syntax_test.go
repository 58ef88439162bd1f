package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/ops"
)

// show writes an argument tree in short: name:kind, TOKEN= before it, ? optional, * multiple, and subarguments in
// parentheses.
func show(args []command.Argument) string {
	var words []string
	for _, a := range args {
		word := a.Name + ":" + a.Kind
		if a.Token != "" {
			word = a.Token + "=" + word
		}
		if len(a.Sub) > 0 {
			word += "(" + show(a.Sub) + ")"
		}
		if a.Optional {
			word += "?"
		}
		if a.Multiple {
			word += "*"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestSyntax(t *testing.T) {
	for _, c := range []struct {
		syntax string
		arity  int // of a command with one word as its name
		args   string
	}{
		{"", 1, ""},
		{"key", 2, "key:key"},
		{"key tokens", 3, "key:key tokens:integer"},
		{"name value", 3, "name:string value:string"},
		{"key ...", -2, "key:key*"},
		{"name value ...", -3, "name:string value:string*"},
		{"[message]", -1, "message:string?"},
		{"key [tokens]", -2, "key:key tokens:integer?"},
		{"[name ...]", -1, "name:string*?"},
		{"ON | OFF", 2, "option:oneof(ON=on:pure-token OFF=off:pure-token)"},
		{"[ASYNC | SYNC]", -1, "option:oneof(ASYNC=async:pure-token SYNC=sync:pure-token)?"},
		{"MATCH pattern", 3, "MATCH=pattern:string"},
		{"cursor [COUNT count]", -2, "cursor:integer COUNT=count:integer?"},
		{"[MAXWAIT duration | BLOCK duration]", -1, "option:oneof(MAXWAIT=duration:string BLOCK=duration:string)?"},
		{"[a | b c]", -1, "option:oneof(a:string b:block(b:string c:string))?"},
		{"[protover [AUTH username password]]", -1, "protover:block(protover:integer username:block(AUTH=username:string password:string)?)?"},
		{"[username] password", -2, "username:string? password:string"},
		{"[TYPE type] [ID client-id ...]", -1, "TYPE=type:string? ID=client-id:integer*?"},
		{"[PEEK] [UPTO | FORCE]", -1, "PEEK=peek:pure-token? option:oneof(UPTO=upto:pure-token FORCE=force:pure-token)?"},
	} {
		args := command.ParseSyntax(c.syntax)
		if got := show(args); strings.ReplaceAll(got, "*?", "?*") != strings.ReplaceAll(c.args, "*?", "?*") {
			t.Errorf("%q\n got %s\nwant %s", c.syntax, got, c.args)
		}
		if got := command.ArityOf(args, 1); got != c.arity {
			t.Errorf("%q has arity %d, want %d", c.syntax, got, c.arity)
		}
	}
}

// Arities are the same as in Redis or, for Stint's commands, as documented.
func TestArities(t *testing.T) {
	for name, arity := range map[string]int{
		"cl.throttle": -5, "tb.acquire": -4, "rl.info": 2, "rl.refund": 3, "rl.atmost": -4,
		"del": -2, "unlink": -2, "exists": -2, "ttl": 2, "pttl": 2, "type": 2, "scan": -2, "keys": 2, "randomkey": 1, "dbsize": 1,
		"flushdb": -1, "flushall": -1, "multi": 1, "exec": 1, "discard": 1, "ping": -1, "echo": 2, "hello": -1, "auth": -2, "select": 2,
		"reset": 1, "readonly": 1, "readwrite": 1, "time": 1, "client": -2, "info": -1, "config": -2, "memory": -2, "role": 1, "wait": 3,
		"shutdown": -1, "cluster": -2, "command": -1,
		"client|id": 2, "client|getname": 2, "client|setname": 3, "client|setinfo": 4, "client|info": 2, "client|list": -2, "client|kill": -3,
		"client|no-evict": 3, "client|reply": 3, "client|tracking": -3, "config|get": -3, "config|set": -4, "config|resetstat": 2,
		"config|rewrite": 2, "memory|usage": -3, "memory|stats": 2, "command|count": 2, "command|info": -2, "command|docs": -2, "command|list": -2,
		"command|getkeys": -4,
	} {
		rows := ops.NamedRows([][]byte{[]byte(name)})
		if rows[0] == nil {
			t.Errorf("there is no %s", name)
		} else if got := rows[0].Arity(); got != arity {
			t.Errorf("%s has arity %d, want %d", name, got, arity)
		}
	}
}

func TestUnbalancedSyntax(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a bracket too many is taken")
		}
	}()
	command.ParseSyntax("key] [value")
}

// Every row is complete: a limiter command has Parse and Reply, a container has subcommands, and all others have Run.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	var check func(r *command.Row, container string)
	check = func(r *command.Row, container string) {
		complain := func(format string, args ...any) { t.Errorf("%s: %s", r.FullName, fmt.Sprintf(format, args...)) }
		if seen[r.FullName] {
			complain("is there twice")
		}
		seen[r.FullName] = true
		if r.Name != strings.ToLower(r.Name) || r.Name == "" || len(r.Name) > command.LongestName {
			complain("has a bad name")
		}
		if r.Summary == "" || r.Since == "" || r.Group == "" {
			complain("has no Summary, Since or Group in its row")
		}
		if !strings.HasSuffix(r.Summary, ".") {
			complain("its summary is no sentence: %s", r.Summary)
		}
		if (r.Parse == nil) != (r.Reply == nil) {
			complain("has Parse without Reply or the other way round")
		}
		if kinds := count(r.Parse != nil, r.Run != nil, len(r.Sub) > 0); kinds == 0 || r.Parse != nil && kinds > 1 {
			complain("is of %d kinds: Parse, Run or Sub", kinds)
		}
		if r.Flags&command.Write != 0 && r.Flags&command.ReadOnly != 0 {
			complain("both writes and does not")
		}
		if hasKey := strings.Contains(" "+r.Syntax+" ", " key "); hasKey != (r.Keys != command.Keys{}) && r.FullName != "cluster|keyslot" { // which only looks at the name
			complain("its keys are %v, its syntax is %q", r.Keys, r.Syntax)
		}
		if r.Parse != nil && r.Flags&(command.Write|command.ReadOnly|command.Observes) == 0 {
			complain("says neither Write nor ReadOnly nor Observes")
		}
		for i := range r.Sub {
			if container != "" {
				complain("has subcommands of subcommands")
			}
			check(&r.Sub[i], r.Name)
		}
	}
	for i := range command.Table {
		check(&command.Table[i], "")
	}
	if len(seen) < 60 {
		t.Errorf("only %d rows were looked at", len(seen))
	}
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// Is agrees with Find: the fast comparison recognises the same command as the full search.
func TestIsAgreesWithFind(t *testing.T) {
	names := []string{"PING", "ping", "PiNg", "pinG", "PINGS", "PIN", "", "P\x00NG", "TB.ACQUIRE", "tb.acquire", "TB\x0eACQUIRE", "client", "CLIENT|ID", "CONFIG", "del"}
	for _, name := range names {
		for n := range 7 {
			args := [][]byte{[]byte(name)}
			for range n {
				args = append(args, []byte("id"))
			}
			found, err := command.Find(args)
			for i := range command.Table {
				row := &command.Table[i]
				if row.Is(args) && (err != nil || found != row) {
					t.Errorf("%s recognises %q with %d arguments, Find says %v", row.Name, name, n, err)
				}
				if found == row && err == nil && len(row.Sub) == 0 && !row.Is(args) {
					t.Errorf("%s does not recognise %q with %d arguments", row.Name, name, n)
				}
			}
		}
	}
}

func TestKeysOf(t *testing.T) {
	for line, want := range map[string]string{
		"CL.THROTTLE k 4 5 60": "[k]", "TB.ACQUIRE k 1 1/s PEEK": "[k]", "DEL a b c": "[a b c]", "EXISTS a": "[a]", "MEMORY USAGE k": "[k]",
		"MEMORY USAGE k SAMPLES 5": "[k]", "PING": "[]", "SCAN 0": "[]", "FLUSHALL": "[]", "ZUNION 2 a b WITHSCORES": "[a b]", "ZUNION 3 a b": "[]", "ZUNION -1 a": "[]", "ZUNION one a": "[]", "EVAL body 2 a b c": "[a b]",
	} {
		var args [][]byte
		for _, w := range strings.Fields(line) {
			args = append(args, []byte(w))
		}
		row, err := command.Find(args)
		if err != nil {
			t.Fatal(line, err)
		}
		if got := fmt.Sprintf("%s", row.KeysOf(args)); got != want {
			t.Errorf("%s has the keys %s, want %s", line, got, want)
		}
	}
}
