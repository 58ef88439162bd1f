//go:build e2e

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// commandDifferences are the deliberate differences of COMMAND, each a pattern of commands and one of facts.
var commandDifferences = []struct{ commands, fact, reason string }{
	{"*", "+noscript", "scripts may not call as many commands, see docs/migrate/redis.md"},
	{"*|help", "*", "HELP needs no right here"},
	{"*", "+@harmless", "the category of commands that reveal nothing of users"},
	{"command*", "-@connection", "these are in @harmless"},
	{"cluster|keyslot", "*fast", "it takes constant time"}, {"cluster|keyslot", "-@slow", "it takes constant time"},
	{"client|?etname", "?*fast", "it takes constant time"}, {"client|?etname", "-@slow", "it takes constant time"},
	{"client|id", "?*fast", "it takes constant time"}, {"client|id", "-@slow", "it takes constant time"},
	{"client|no-evict", "-*", "no key is evicted, so it changes nothing"},
	{"module|list", "-*", "there are no modules, so it reveals nothing"},
	{"cluster|*", "+@connection", "clients ask for the nodes when they connect"}, {"cluster|replicas", "-*", "clients ask for the nodes when they connect"},
	{"*", "+no_multi", "such a command within MULTI is carried out at once, or refused"},
	{"eval*", "+*", "a script counts as a write, and one that must not write as a read"},
	{"script|flush", "+*write", "it is in the log of a cluster"}, {"script|load", "+*write", "it is in the log of a cluster"}, {"publish", "+*write", "it is in the log of a cluster"},
	{"script", "+@scripting", "a container cannot be called"}, {"object", "+@keyspace", "a container cannot be called"}, {"xinfo", "+@stream", "a container cannot be called"},
	{"memory|purge", "+*", "it takes the server's time"},
	{"lastsave", "+admin", "it is in @admin of Redis too"}, {"role", "+admin", "it is in @admin of Redis too"},
	{"quit", "arity -1, not 1", "QUIT has no arguments"},
	{"wait", "+*", "it delays its reply; its group is that of Redis"},
	{"watch", "+*read*", "what EXEC answers depends on the key"},
}

// commandFacts is what COMMAND says of each command, with those in containers.
func commandFacts(t *testing.T, address string) map[string][]string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(testwait.Deadline())
	if _, err := conn.Write([]byte("COMMAND\r\n")); err != nil {
		t.Fatal(err)
	}
	all, in := map[string][]string{}, bufio.NewReader(conn)
	for range readInt(t, in, '*') {
		readCommand(t, in, all)
	}
	return all
}

func readCommand(t *testing.T, in *bufio.Reader, all map[string][]string) {
	t.Helper()
	readInt(t, in, '*')
	name := readText(t, in)
	facts := []string{fmt.Sprint("arity ", readInt(t, in, ':'))}
	flags := readTexts(t, in)
	facts = append(facts, fmt.Sprint("keys ", readInt(t, in, ':'), " ", readInt(t, in, ':'), " ", readInt(t, in, ':')))
	for _, word := range append(flags, readTexts(t, in)...) {
		switch word { // what the two servers do not have in common
		case "loading", "stale", "skip_monitor", "skip_slowlog", "no_async_loading", "no_mandatory_keys", "allow_busy", "asking":
		default:
			facts = append(facts, word)
		}
	}
	all[name] = facts
	skipReply(t, in)
	skipReply(t, in)
	for range readInt(t, in, '*') {
		readCommand(t, in, all)
	}
}

func readLine(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(line, "\r\n")
}

func readInt(t *testing.T, in *bufio.Reader, kind byte) int {
	t.Helper()
	line := readLine(t, in)
	if line[0] != kind {
		t.Fatalf("%s in place of a %c", line, kind)
	}
	return atoi(t, line[1:])
}

// readText reads a bulk string or a status.
func readText(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	if line := readLine(t, in); line[0] != '$' {
		return line[1:]
	}
	return readLine(t, in)
}

func readTexts(t *testing.T, in *bufio.Reader) (all []string) {
	t.Helper()
	for range readInt(t, in, '*') {
		all = append(all, readText(t, in))
	}
	return all
}

func skipReply(t *testing.T, in *bufio.Reader) {
	t.Helper()
	switch line := readLine(t, in); line[0] {
	case '*':
		for range atoi(t, line[1:]) {
			skipReply(t, in)
		}
	case '$':
		readLine(t, in)
	}
}

// factsOfBoth is what COMMAND says in Redis 7.0 and in Stint.
func factsOfBoth(t *testing.T) (theirs, ours map[string][]string) {
	t.Helper()
	redis := testserver.StartRedis(t)
	if version := ask(t, redis.Address, "INFO server"); !strings.Contains(version, "redis_version:7.0.") {
		t.Skip("needs Redis 7.0")
	}
	stint := testserver.Start(t, testserver.Build(t, filepath.Join("..", "..")), "--admin", "")
	return commandFacts(t, redis.Address), commandFacts(t, stint)
}

// The page for users of Redis names each command of Redis 7.0 that Stint lacks, and no other. It may name several by a
// pattern, and subcommands by their container.
func TestMissingCommandsAreNamed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "migrate", "redis.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "these are missing:")
	list, _, _ = strings.Cut(list, "\n- ")
	theirs, ours := factsOfBoth(t)
	missing := map[string]bool{} // whether the page names it
	for name := range theirs {
		if _, has := ours[name]; !has {
			missing[name] = false
		}
	}
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(list, -1) {
		pattern, used := strings.ToLower(strings.Trim(quoted, "`")), false
		for name := range missing {
			if container, _, _ := strings.Cut(name, "|"); glob.Match(pattern, name) || glob.Match(pattern, container) {
				missing[name], used = true, true
			}
		}
		if !used {
			t.Errorf("the page says that %s is missing", quoted)
		}
		for name, facts := range ours {
			isContainer := strings.HasPrefix(facts[0], "arity -2") && pattern == name
			if glob.Match(pattern, name) && !isContainer {
				t.Errorf("the page says that %s is missing, and Stint has %s", quoted, name)
			}
		}
	}
	for name, isNamed := range missing {
		if !isNamed {
			t.Errorf("the page does not say that %s is missing", name)
		}
	}
}

// COMMAND says of the commands that Redis has too what Redis 7.0 says, except for differences with a reason.
func TestCommandsAreThoseOfRedis(t *testing.T) {
	theirs, ours := factsOfBoth(t)
	used, common := make([]bool, len(commandDifferences)), 0
	for name, facts := range ours {
		known, has := theirs[name]
		if !has {
			continue
		}
		common++
		differences := map[string]bool{}
		for i, fact := range facts {
			switch {
			case i < 2 && fact != known[i]: // arity and keys
				_, is, _ := strings.Cut(fact, " ")
				differences[known[i]+", not "+is] = true
			case i >= 2 && !slices.Contains(known, fact):
				differences["+"+fact] = true
			}
		}
		for _, fact := range known[2:] {
			if !slices.Contains(facts, fact) {
				differences["-"+fact] = true
			}
		}
		for fact := range differences {
			isKnown := false
			for i, d := range commandDifferences {
				if glob.Match(d.commands, name) && glob.Match(d.fact, fact) {
					isKnown, used[i] = true, true
				}
			}
			if !isKnown {
				t.Errorf("%s: against Redis %s", name, fact)
			}
		}
	}
	for i, d := range commandDifferences {
		if !used[i] {
			t.Errorf("no command differs: %s %s, because %s", d.commands, d.fact, d.reason)
		}
	}
	if common < 240 {
		t.Errorf("only %d commands in common", common)
	}
}
